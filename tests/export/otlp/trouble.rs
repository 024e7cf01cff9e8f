//! Collectors that are busy, silent, selective or gone: no verdict depends on them, and losses are
//! reported. How long a run waits for them is measured in `tests/measured/collectors.rs`.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tandem::verdict::Telemetry;

use crate::otlp::many;
use crate::otlp::receiver::{Kept, Receiver};
use support::experiment::{Experiment, Finished, claimless, eventually, tandem};

fn telemetry(run: &Finished) -> Telemetry {
    run.report().telemetry.unwrap_or_else(|| panic!("no telemetry: {run}"))
}

/// It does nothing for so long, and claims nothing.
fn calm(lasts: &str) -> Experiment {
    let text = claimless("calm").replace("for: 60s", &format!("for: {lasts}"));
    Experiment::of("calm.yaml", &text)
}

/// The verdict and the exit code depend on the journal, not on telemetry.
fn is_judged_alike(run: &Finished) {
    run.sound();
    let again = run.judged_again();
    assert_eq!(again.status.code(), run.code(), "{run}");
    assert_eq!(String::from_utf8_lossy(&again.stdout), run.stdout, "{run}");
}

/// It is judged, ends, and says that all of it was lost.
fn loses_all(url: &str, protocol: &str) {
    let order = calm("1s").with(&format!("--trials 1 --otlp {url}"));
    let run = order.set("OTEL_EXPORTER_OTLP_PROTOCOL", protocol).finish();
    is_judged_alike(&run);
    let lost = telemetry(&run);
    assert!(lost.spans > 0 && lost.logs > 0, "{lost:?}");
    assert_eq!((lost.spans_lost, lost.logs_lost), (lost.spans, lost.logs), "{lost:?}");
    assert!(lost.why.is_some(), "{lost:?}");
    let line = format!("lost {} spans, {} log records", lost.spans_lost, lost.logs_lost);
    assert!(run.stderr.contains(&line), "{run}");
    assert!(run.stdout.contains(&line), "{run}");
    let metrics = lost.metrics.unwrap_or_else(|| panic!("no metrics: {run}"));
    assert!(metrics.exports > 0 && metrics.exports_lost == metrics.exports, "{metrics:?}");
    let text = metrics.lost().unwrap();
    assert!(text.contains(&metrics.why.unwrap()), "it says why: {text}");
    assert!(run.stderr.contains(&text), "{text}: {run}");
    assert!(run.stdout.contains(" exports of metrics were lost: "), "{run}");
}

#[test]
fn a_collector_that_takes_no_metrics_costs_those_and_nothing_else() {
    let receiver = Receiver::http(Kept::default(), None);
    let order = calm("1s").with("--trials 1");
    let order = order.set("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url("http"));
    // While it goes on it has all the time to hear why.
    let order = order.set("OTEL_METRIC_EXPORT_INTERVAL", "100");
    let metrics = receiver.url("http") + "/nowhere";
    let run = order.set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", &metrics).finish();
    run.sound();
    let sent = telemetry(&run);
    let lost = sent.metrics.clone().unwrap();
    assert!(lost.exports > 0 && lost.exports_lost == lost.exports, "{lost:?}");
    let why = lost.why.clone().unwrap_or_default();
    assert!(why.contains("404"), "{why}");
    assert!(run.stderr.contains(&lost.lost().unwrap()), "{run}");
    let (spans, logs) = (receiver.spans().len() as u64, receiver.logs().len() as u64);
    assert!(sent.spans - sent.spans_lost <= spans && sent.logs - sent.logs_lost <= logs, "{run}");
    // Metrics cannot be sent again. What a host keeps from arriving in time at the end can.
    assert_eq!(run.stderr.contains("tandem export"), sent.lacks(), "{run}");
    // What is sent again is not metrics, and what became of those stays known.
    let done = export(&run.out, &receiver, "http/protobuf");
    assert_eq!(done.0, Some(0), "{}", done.1);
    assert_eq!(telemetry(&run).metrics, Some(lost), "{run}");
}

#[test]
fn a_run_with_a_silent_collector_ends_and_is_judged() {
    for protocol in ["http/protobuf", "grpc"] {
        // It listens, so the kernel takes connections and what is written to them.
        let mute = TcpListener::bind("127.0.0.1:0").unwrap();
        loses_all(&format!("http://{}", mute.local_addr().unwrap()), protocol);
    }
}

#[test]
fn a_run_with_a_missing_collector_ends_and_is_judged() {
    for protocol in ["http/protobuf", "grpc"] {
        // Nothing listens on a port that no process gets which asks for any.
        loses_all("http://127.0.0.1:1", protocol);
    }
}

#[test]
fn a_killed_collector_loses_only_unaccepted_items() {
    let mut receiver = Receiver::http(Kept::default(), None);
    let args = "--trials 100 --set defaults.session=500ms";
    let order = Experiment::claimless("kill-leader").with(args);
    let running = order.with(&format!("--otlp {}", receiver.url("http"))).start();
    let some = || (receiver.answered().1 > 0).then_some(());
    eventually("log records that are taken", Duration::from_secs(60), some);
    receiver.kill();
    let (operations, taken) = receiver.answered();
    running.signal(Signal::INT);
    let run = running.finish();
    assert_eq!(run.code(), Some(130), "{run}");
    let lost = telemetry(&run);
    // Traces leave at the end; what came before were operations.
    assert!(lost.spans_lost > 0 && lost.spans_lost <= lost.spans - operations, "{lost:?}");
    assert!(lost.logs_lost > 0 && lost.logs_lost <= lost.logs - taken, "{taken}: {lost:?}");
    assert!(run.stderr.contains("tandem export"), "{run}");
}

#[test]
fn a_collector_that_is_busy_for_a_moment_costs_nothing() {
    for grpc in [false, true] {
        let make = if grpc { Receiver::grpc } else { Receiver::http };
        let receiver = make(Kept::busy(4), None);
        let journal = many::written(2);
        let protocol = if grpc { "grpc" } else { "http/protobuf" };
        let done = export(journal.path(), &receiver, protocol);
        assert_eq!(done.0, Some(0), "{}", done.1);
        assert!(!receiver.spans().is_empty());
    }
}

#[test]
fn items_rejected_in_a_successful_response_are_lost() {
    for grpc in [false, true] {
        let make = if grpc { Receiver::grpc } else { Receiver::http };
        let receiver = make(Kept::picky(3), None);
        let journal = many::written(2);
        let protocol = if grpc { "grpc" } else { "http/protobuf" };
        let done = export(journal.path(), &receiver, protocol);
        assert_eq!(done.0, Some(1), "{}", done.1);
        assert!(done.1.contains("lost 3 spans, 0 log records"), "{}", done.1);
        assert!(done.1.contains("the collector rejected 3 items: not these"), "{}", done.1);
    }
}

/// No host takes longer to send a run.
pub(crate) const PATIENT: [&str; 2] = ["--within", "10m"];

/// Sends a run; the exit code, and what was said.
pub(crate) fn export(dir: &Path, receiver: &Receiver, protocol: &str) -> (Option<i32>, String) {
    let state = tempfile::tempdir().unwrap();
    let mut command = tandem(state.path());
    command.arg("export").arg(dir).args(["--otlp", &receiver.url("http")]).args(PATIENT);
    let done = command.env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol).output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8_lossy(&text).into_owned())
}
