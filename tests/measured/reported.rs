//! What `tandem up` reports of members that die, on a quiet host: at once, and with the gaps that
//! its journal has.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use support::applied::{Part, is_disturbed, shown};
use support::experiment::{output, tandem};
use support::measured::turn;
use support::outside::{Death, events_match_the_journal, kill_leader};
use support::quiet::{NOISE_MAX, STALL, await_quiet, undisturbed};
use support::stalls::Watch;
use support::up::{Up, nothing_is_left};
use tandem::live_view::{Event, Happening, Level};
use tandem::time::Mono;

/// The longest time from a death until it is reported.
const REPORTED_WITHIN: Duration = Duration::from_millis(100);

/// What was reported of some deaths.
struct Reported {
    up: Up,
    events: Vec<Event>,
    deaths: [Death; 5],
    /// The longest stall of the processes that report, or of this one, and of any death all of them
    /// together until it was reported: a report waits for one process after the other.
    stalled: Duration,
}

fn play() -> Reported {
    let _turn = turn();
    await_quiet(NOISE_MAX);
    let mut up = Up::start("-f topologies/duo.yaml --set defaults.session=300ms");
    up.await_health(Level::Led);
    let mut follower = up.follow();
    let watch = Watch::begin();
    [up.pid(), up.supervisor(), follower.pid()].into_iter().for_each(|pid| watch.add(pid));
    let began = Mono::now();
    let deaths = ["p1", "p2", "p1", "p2", "p1"]
        .map(|name| kill_leader(&up, &mut follower, &name.parse().unwrap()));
    let on_the_way = |death: &Death| watch.total(death.heard - death.reported_after, death.heard);
    let longest = watch.longest(began, Mono::now());
    let stalled = deaths.iter().map(on_the_way).fold(longest, Duration::max);
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let (status, events) = follower.finish();
    assert!(status.success(), "{status}");
    nothing_is_left(up.state());
    let events = events.into_iter().map(|(_, event)| event).collect();
    Reported { up, events, deaths, stalled }
}

#[test]
fn each_death_is_reported_at_once_and_gaps_match_the_journal() {
    let disturbed = |it: &Reported| it.stalled > STALL || is_disturbed(&Part::all(&it.up));
    let shown = |it: &Reported| format!("stalled {:?}\n{}", it.stalled, shown(&Part::all(&it.up)));
    let Some(reported) = undisturbed(play, disturbed, shown) else { return };
    let Reported { up, events, deaths, .. } = reported;
    let reported_after = deaths.each_ref().map(|death| death.reported_after);
    assert!(reported_after.iter().all(|after| *after <= REPORTED_WITHIN), "{reported_after:?}");
    assert!(matches!(events.last().unwrap().what, Happening::Ending { .. }), "{events:#?}");
    let (gaps, worst) = events_match_the_journal(&up, &events, &deaths);
    assert!(gaps >= deaths.len(), "{gaps} gaps of {} deaths", deaths.len());
    eprintln!("{gaps} gaps, the worst {worst:?} off");
    // The pipe has every event, one per line.
    let lines = fs::read_to_string(up.out.join("../stdout")).unwrap();
    assert_eq!(
        lines,
        events.iter().map(|it| tandem::live_view::line(it) + "\n").collect::<String>()
    );
    let again = output(tandem(up.state()).arg("report").arg(&up.out).args(["-o", "json"]));
    let report: tandem::verdict::Report = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((report.trials, report.joint.gap.count), (1, 0));
    let sockets = fs::read_dir(up.state().join("tandem/up")).into_iter().flatten().count();
    assert_eq!(sockets, 0, "its socket is removed");
}
