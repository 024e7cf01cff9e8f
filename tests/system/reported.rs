//! What `tandem up` reports of members that die: each death once, to all who listen, and in its
//! journal. How soon, and that its gaps are those of the journal: `tests/measured/reported.rs`.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::Signal;
use support::experiment::{output, tandem};
use support::outside::kill_leader;
use support::up::{Up, nothing_is_left};
use tandem::ids::Life;
use tandem::live_view::{Event, Happening, Level, line};
use tandem::observation::{RunEvent, What};
use tandem::verdict::Report;

#[test]
fn each_death_is_reported_once_and_in_the_journal() {
    let mut up = Up::start("-f topologies/duo.yaml");
    up.await_health(Level::Led);
    let mut follower = up.follow();
    let killed = ["p1", "p2"]
        .map(|name| kill_leader(&up, &mut follower, &name.parse().unwrap()))
        .map(|death| death.life);
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let (status, events) = follower.finish();
    assert!(status.success(), "{status}");
    nothing_is_left(up.state());

    let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event.seq, seq, "no event is missing");
    }
    let missed = events.iter().find(|event| matches!(event.what, Happening::Missed { .. }));
    assert!(missed.is_none(), "{missed:?}");
    let reported = events.iter().filter_map(|event| match &event.what {
        Happening::Died { life, signal: Some(9), .. } => Some(life.clone()),
        _ => None,
    });
    let reported: Vec<Life> = reported.collect();
    assert!(reported.starts_with(&killed), "{reported:?}");
    // One that ends too slowly in the end is killed as well, once.
    let once: BTreeSet<&Life> = reported.iter().collect();
    assert_eq!(once.len(), reported.len(), "{reported:?}");
    let facts = up.recording().facts;
    let died = facts
        .iter()
        .filter(|fact| matches!(fact.what, What::Run(RunEvent::Died { signal: Some(9), .. })));
    let written = died.filter_map(|fact| fact.life.clone());
    let written: Vec<Life> = written.filter(|life| killed.contains(life)).collect();
    assert_eq!(written, killed);
    assert!(matches!(events.last().unwrap().what, Happening::Ending { .. }), "{events:#?}");
    // The pipe has every event, one per line.
    let lines = fs::read_to_string(up.out.join("../stdout")).unwrap();
    assert_eq!(lines, events.iter().map(|it| line(it) + "\n").collect::<String>());
    let again = output(tandem(up.state()).arg("report").arg(&up.out).args(["-o", "json"]));
    let report: Report = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(report.trials, 1);
    let sockets = fs::read_dir(up.state().join("tandem/up")).into_iter().flatten().count();
    assert_eq!(sockets, 0, "its socket is removed");
}
