//! A topology that is kept up, exported to collectors: traces of windows, logs and metrics while it
//! runs; losses are reported. `tests/measured/collectors.rs` measures that none delays its end.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use rustix::process::Signal;
use tandem::ids::{GroupName, Life};
use tandem::journal::{Recording, read_parts};
use tandem::live_view::Level;
use tandem::observation::{RunEvent, What};
use tandem::timeline::{Interval, Timeline};

use crate::otlp::agrees::{logs_match_facts, named};
use crate::otlp::receiver::{self, Receiver};
use crate::otlp::trouble::PATIENT;
use crate::single::{SINGLE, await_gap, kill_member};
use support::experiment::{PATIENCE, eventually, output, signal_pid, tandem};
use support::up::Up;
use support::windowed::{records_lead, wall, windows, windows_agree};

/// Nothing listens there, on a port that no process gets which asks for any.
const GONE: &str = "127.0.0.1:1";

/// A topology that was kept up for some windows, one of whose leaders died.
struct Kept {
    up: Up,
    receiver: Receiver,
    /// Who died.
    life: Life,
}

fn kept_up() -> Kept {
    let receiver = Receiver::http(receiver::Kept::default(), None);
    let mut up = Up::start(&format!("{SINGLE} --window 5s --otlp {}", receiver.url("http")));
    up.await_health(Level::Led);
    let mut follower = up.follow();
    let group: GroupName = "p1".parse().unwrap();
    let life = kill_member(&up, &mut follower, &group);
    // It arrives a second later at most, and the run is not over.
    let died = || receiver.logs().iter().any(|log| log.event_name == "member.died").then_some(());
    eventually("the death's record", Duration::from_secs(60), died);
    await_gap(&mut follower, &group);
    up.await_health(Level::Led);
    let seen = |count| (windows(&receiver.spans()).len() >= count).then_some(());
    eventually("two windows while it goes on", Duration::from_secs(60), || seen(2));
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    Kept { up, receiver, life }
}

/// Whether all of it arrived, as it says itself: at its end it waits two seconds for a collector,
/// and no longer.
fn is_whole(said: &str) -> bool {
    !["elemetry", "facts were missed"].iter().any(|word| said.contains(word))
}

/// What arrived while it went on is what the journal says. What did not arrive in time is reported
/// as lost, and facts that came too late for what was counted already as late.
#[test]
fn all_of_it_leaves_while_it_goes_on_and_is_the_journals() {
    let Kept { up, receiver, life } = kept_up();
    let (said, recording, spans) = (up.said(), up.recording(), receiver.spans());
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    let written: f64 = gaps.map(|gap| gap.span.length().as_secs_f64()).sum();
    assert!(written > 0.0, "{life} led something: {said}");
    let again = exported_as_one_trace(&up);
    if !is_whole(&said) {
        eprintln!("not all of it arrived in time: {said}");
        return;
    }
    logs_match_facts(&recording, &receiver.logs());
    operations_are_the_runs(&recording, &spans);
    // What has an id in common with what was sent before is the same.
    let common = |span: &&Span| spans.iter().any(|one| one.trace_id == span.trace_id);
    let common: Vec<&Span> = again.iter().filter(common).collect();
    assert_eq!(common, named(&spans, "chaos.run"), "the run's own span, to the letter");
    if receiver.counter("neli.telemetry.late").unwrap() > 0.0 {
        eprintln!("facts came too late for what was counted: {said}");
        return;
    }
    let counted = receiver.counter("neli.role.unavailable.time").unwrap();
    assert!(counted >= written - 0.001, "{counted}, {written} written");
    let [trial] = timeline.record.trials[..] else { panic!("{:?}", timeline.record.trials) };
    assert!(windows(&spans).len() >= 3);
    let gaps = windows_agree(&recording.header, &timeline, trial.window, &spans);
    assert!(gaps > 0, "{life} led something");
    records_lead_to_windows(&recording, trial.window, &spans, &receiver.logs());
}

/// From the first window to the last each record is in one; so is the death.
fn records_lead_to_windows(
    recording: &Recording,
    judged: Interval,
    spans: &[Span],
    records: &[LogRecord],
) {
    let [from, until] = [judged.from, judged.until].map(|at| wall(&recording.header, at));
    let during = records.iter().filter(|one| (from..=until).contains(&one.time_unix_nano));
    assert_eq!(records_lead(spans, records), during.clone().count());
    let names: BTreeSet<&str> = during.map(|one| one.event_name.as_str()).collect();
    let wanted = ["trial.began", "member.died", "member.started", "trial.ended"];
    assert!(wanted.iter().all(|name| names.contains(name)), "{names:?}");
}

/// What the controller did stands below the run's own span.
fn operations_are_the_runs(recording: &Recording, spans: &[Span]) {
    let [run] = named(spans, "chaos.run")[..] else { panic!("{spans:#?}") };
    let started = recording
        .facts
        .iter()
        .filter(|fact| matches!(fact.what, What::Run(RunEvent::Started { .. })));
    for (name, count) in
        [("clusters.start", 1), ("topics.provision", 1), ("member.start", started.count())]
    {
        let found = named(spans, name);
        assert_eq!(found.len(), count, "{name}");
        let place = |span: &&Span| (span.trace_id.clone(), span.parent_span_id.clone());
        let ours = (run.trace_id.clone(), run.span_id.clone());
        assert!(found.iter().all(|span| place(span) == ours), "{found:?}");
    }
}

/// Sent again, it is one trace of its journals.
fn exported_as_one_trace(up: &Up) -> Vec<Span> {
    let again = Receiver::http(receiver::Kept::default(), None);
    let mut export = tandem(up.state());
    export.arg("export").args(PATIENT).arg(&up.out).args(["--otlp", &again.url("http")]);
    let done = output(&mut export);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let spans = again.spans();
    assert!(!named(&spans, "leadership.gap").is_empty(), "{done:?}");
    assert_eq!(named(&spans, "chaos.trial").len(), 1);
    spans
}

#[test]
fn it_ends_without_its_collector_and_losses_are_reported() {
    // It listens, so the kernel takes connections and what is written to them.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    for address in [mute.local_addr().unwrap().to_string(), GONE.to_owned()] {
        let mut up = Up::start(&format!("-f topologies/solo.yaml --otlp http://{address}"));
        up.await_health(Level::Led);
        up.signal(Signal::INT);
        assert_eq!(up.ends().code(), Some(0), "{}", up.said());
        let said = up.said();
        let (spans, records) = lost(&said);
        // Its operations, the one window, and the run itself.
        assert!(spans > 5, "{said}");
        assert_eq!(records, written_count(&up), "{said}");
        assert!(said.contains("exports of metrics were lost: "), "{said}");
    }
}

/// How many spans and records were lost, as it says at its end.
fn lost(said: &str) -> (usize, usize) {
    let lost = said.split("; lost ").nth(1).unwrap_or_else(|| panic!("{said}"));
    let words: Vec<&str> = lost.split(' ').collect();
    assert_eq!((words[1], words[3]), ("spans,", "log"), "{said}");
    (words[0].parse().unwrap(), words[2].parse().unwrap())
}

/// It is stopped from its start until a member has died twice: its supervisor goes on meanwhile.
#[test]
fn what_happens_before_it_reads_is_sent() {
    let mut up = Up::start(&format!("-f topologies/solo.yaml --otlp http://{GONE}"));
    up.supervisor();
    up.signal(Signal::STOP);
    for incarnation in [1, 2] {
        let pid = eventually("a member", PATIENCE, || started(&up, incarnation));
        signal_pid(pid, Signal::KILL);
    }
    eventually("the third life", PATIENCE, || started(&up, 3));
    up.signal(Signal::CONT);
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let said = up.said();
    assert_eq!(lost(&said).1, written_count(&up), "{said}");
}

/// The process of this life of a member, by the journal so far.
fn started(up: &Up, incarnation: u32) -> Option<u32> {
    let of_it = |life: &Life| life.member.as_str() == "p1-1" && life.incarnation.0 == incarnation;
    let mut facts = read_parts(&up.out).ok()?.facts.into_iter();
    let fact = facts.find(|fact| {
        matches!(fact.what, What::Run(RunEvent::Started { .. }))
            && fact.life.as_ref().is_some_and(of_it)
    })?;
    let What::Run(RunEvent::Started { pid, .. }) = fact.what else { return None };
    Some(pid)
}

#[test]
fn the_first_loss_is_reported_during_the_run() {
    let args = format!("-f topologies/solo.yaml --otlp http://{GONE}");
    let mut up = Up::start_with(&args, &[("OTEL_METRIC_EXPORT_INTERVAL", "500")]);
    up.await_health(Level::Led);
    let losses = |signal: &str| {
        let (said, signal) = (up.said(), format!("signal=\"{signal}\""));
        let lines = said.lines().filter(|line| line.contains("Telemetry is being lost"));
        lines.filter(|line| line.contains(&signal)).map(str::to_owned).collect::<Vec<_>>()
    };
    for signal in ["traces", "logs", "metrics"] {
        let first = || losses(signal).pop();
        let line = eventually(signal, Duration::from_secs(60), first);
        assert!(line.contains("why=") && line.contains("onnect"), "{line}");
    }
    // Once each, however much more is lost.
    let died = up
        .await_health(Level::Led)
        .groups
        .values()
        .flat_map(|of| of.members.values())
        .find_map(|seat| seat.pid)
        .unwrap();
    signal_pid(died, Signal::KILL);
    up.await_health(Level::Led);
    let counts = ["traces", "logs", "metrics"].map(|signal| losses(signal).len());
    assert_eq!(counts, [1; 3], "{}", up.said());
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    assert!(lost(&up.said()).0 > 0, "{}", up.said());
}

#[test]
fn a_window_of_no_sensible_length_is_refused() {
    for length in ["4s", "61m", "60", "long"] {
        let mut up = Up::start(&format!("-f topologies/solo.yaml --window {length}"));
        assert_eq!(up.ends().code(), Some(2), "{length}: {}", up.said());
        assert!(up.said().contains("--window <DURATION>"), "{}", up.said());
        assert!(!up.out.exists(), "{length}");
    }
}

/// How many log records its journals have.
fn written_count(up: &Up) -> usize {
    crate::otlp::agrees::records(&up.recording()).len()
}
