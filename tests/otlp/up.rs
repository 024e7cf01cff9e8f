//! A topology that is kept up, told to collectors: logs and metrics while it goes on; none of them
//! delays its end, and what is lost is told.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::GroupName;
use tandem::time::Mono;
use tandem::timeline::Timeline;
use tandem::view::{Happening, Level};

use crate::agrees::told_agree;
use crate::receiver::{Kept, Receiver};
use crate::support::experiment::{eventually, output, tandem};
use crate::support::outside::kill_leader;
use crate::support::up::Up;

/// The exit may be later than its members' by this, on a machine that does other things as well.
const LATE: Duration = Duration::from_millis(3_000);

#[test]
fn logs_and_metrics_leave_while_it_goes_on_and_are_the_journals() {
    let receiver = Receiver::http(Kept::default(), None);
    let args = "-f topologies/duo.yaml --set defaults.session=500ms";
    let mut up = Up::start(&format!("{args} --otlp {}", receiver.url("http")));
    up.await_health(Level::Led);
    let mut follower = up.follow();
    let group: GroupName = "p1".parse().unwrap();
    let death = kill_leader(&up, &mut follower, &group);
    // It arrives a second later at most, and the run is not over.
    let died = || receiver.logs().iter().any(|log| log.event_name == "member.died").then_some(());
    eventually("the death's record", Duration::from_secs(10), died);
    follower.await_event("its gap", |event| match &event.what {
        Happening::Gap(gap) if gap.group.as_ref() == Some(&group) => Some(()),
        _ => None,
    });
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    assert!(!up.said().contains("telemetry:"), "{}", up.said());
    let recording = up.recording();
    told_agree(&recording, &receiver.logs());
    assert!(receiver.spans().is_empty(), "traces are made of its journals");
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    let written: f64 = gaps.map(|gap| gap.span.length().as_secs_f64()).sum();
    let counted = receiver.counter("neli.role.unavailable.time").unwrap();
    assert!(written > 0.0 && counted >= written - 0.001, "{} died: {counted}", death.life);
    // Sent again, with the traces that its journals tell.
    let again = Receiver::http(Kept::default(), None);
    let mut export = tandem(up.state());
    let done = output(export.arg("export").arg(&up.out).args(["--otlp", &again.url("http")]));
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let gaps = again.spans().iter().filter(|span| span.name == "leadership.gap").count();
    assert!(gaps > 0, "{done:?}");
}

#[test]
fn no_collector_delays_its_end_and_what_is_lost_is_told() {
    // It listens, so the kernel takes connections and what is written to them.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [mute.local_addr().unwrap(), gone] {
        let mut up = Up::start(&format!("-f topologies/solo.yaml --otlp http://{address}"));
        up.await_health(Level::Led);
        up.signal(Signal::INT);
        let ledgers = up.state().join("tandem/runs");
        eventually("the end of its members", Duration::from_secs(60), || {
            (fs::read_dir(&ledgers).into_iter().flatten().count() == 0).then_some(())
        });
        let left = Mono::now();
        assert_eq!(up.ends().code(), Some(0), "{}", up.said());
        let late = Mono::now().since(left);
        assert!(late < LATE, "{late:?} after its members: {}", up.said());
        let said = up.said();
        let lost = said.split("; lost 0 spans, ").nth(1).and_then(|rest| rest.split(' ').next());
        let lost: usize = lost.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
        let records = written_count(&up);
        assert_eq!(lost, records, "{said}");
        assert!(said.contains("exports of metrics were lost: "), "{said}");
    }
}

/// How many records its journals tell.
fn written_count(up: &Up) -> usize {
    crate::agrees::records(&up.recording()).len()
}
