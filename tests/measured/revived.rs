//! A topology that is kept up outlives its embedded brokers: how soon its members lead again, and
//! that each gap has its cause.

use std::time::Duration;

use rustix::process::Signal;
use support::applied::Part;
use support::experiment::{eventually, output, signal_pid, tandem};
use support::measured::shared_turn;
use support::quiet::is_hindered;
use support::revived::{await_death, await_start, broker, cluster};
use support::stalls::Watch;
use support::supervised::pids;
use support::up::{Follower, Up, nothing_is_left};
use tandem::live_view::{Happening, Level};
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::Cause;

/// Members of a broker that runs again are back within this, or as much later as the host stalled:
/// a client looks for its broker once a second, joins, and a session of the dead may have to pass.
const BACK: Duration = Duration::from_secs(5);
/// Nothing here takes longer, however loaded the machine.
const SOON: Duration = Duration::from_secs(60);
/// For how long a group is left without its broker.
const HELD: Duration = Duration::from_secs(1);

fn await_health(follower: &mut Follower, level: Level) -> Mono {
    let so = follower.await_event(level.word(), |event| match event.what {
        Happening::Health { now, .. } if now == level => Some(()),
        _ => None,
    });
    so.0
}

#[test]
fn members_of_a_broker_that_was_started_again_are_back_soon_and_each_gap_has_its_cause() {
    let _turn = shared_turn();
    let mut up = Up::start("-f topologies/duo.yaml --set defaults.session=300ms");
    let before = up.await_health(Level::Led);
    let (address, first) = broker(&before);
    let (mut follower, watch) = (up.follow(), Watch::begin());
    signal_pid(first, Signal::KILL);
    await_death(&mut follower);
    let (there, second) = await_start(&mut follower, first);
    assert_eq!(there, address);
    // Members would be back before their claims are over; they are held longer, so that no member
    // leads.
    signal_pid(second, Signal::STOP);
    // An event that was read before may have reported it, if the host held up the next life. Where
    // the host holds up the other group as well, no group leads.
    eventually("no leader of p1", SOON, || {
        let (code, picture) = up.status();
        let is_lost = matches!(picture?.health, Level::Degraded | Level::Down);
        (is_lost && matches!(code, Some(7 | 8))).then_some(())
    });
    // The gap is to be the longest, on a host that stalls as well.
    std::thread::sleep(HELD);
    // It answers its members, and the supervisor reports what they say.
    [second, up.supervisor()].into_iter().for_each(|pid| watch.add(pid));
    signal_pid(second, Signal::CONT);
    let woken = Mono::now();
    let back = await_health(&mut follower, Level::Led).since(woken);
    let most = BACK + watch.total(woken, Mono::now());
    eprintln!("led again {back:?} after the broker went on, of at most {most:?}");
    assert!(back < most, "{back:?}: {}", up.said());
    let after = eventually("all members to lead and live", SOON, || {
        up.status().1.filter(|now| now.health == Level::Led && pids(now) == pids(&before))
    });
    assert_eq!((broker(&after), after.brokers[&cluster()].deaths), ((address.clone(), second), 1));
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    the_gaps_have_their_cause(&up);
    nothing_is_left(up.state());
}

/// Each gap of the group on cluster `a` has the cause that its rule names: the broker's death, and
/// once the group had settled on the next broker, that this one is stopped.
fn the_gaps_have_their_cause(up: &Up) {
    let parts = Part::all(up);
    let (by_broker, others): (Vec<_>, Vec<_>) =
        parts[0].of("p1").gaps.iter().partition(|gap| gap.cause == Cause::Broker(cluster()));
    assert!(!by_broker.is_empty(), "a broker that stands still leaves its group without a leader");
    // A member that the host keeps from running leaves a gap as well.
    let record = &parts[0].timeline.record;
    let unexplained: Vec<_> =
        others.into_iter().filter(|gap| !is_hindered(record, gap.span)).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
    let stopped = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::BrokerLost { .. }));
    assert!(parts[0].recording.facts.iter().any(stopped), "the stop is a fact");
    let report = output(tandem(up.state()).arg("report").arg(&up.out));
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.contains("after the loss of a broker of cluster a"), "{report}");
}

#[test]
fn members_of_a_broker_that_died_twice_are_back_soon() {
    let _turn = shared_turn();
    let mut up = Up::start("-f topologies/solo.yaml --set defaults.session=300ms");
    let (_, first) = broker(&up.await_health(Level::Led));
    let (mut follower, watch) = (up.follow(), Watch::begin());
    signal_pid(first, Signal::KILL);
    let (_, second) = await_start(&mut follower, first);
    signal_pid(second, Signal::STOP);
    up.await_health(Level::Down);
    // It dies while its topics are made again, and the next one gets them all the same.
    watch.add(up.supervisor());
    signal_pid(second, Signal::KILL);
    let died = Mono::now();
    watch.add(await_start(&mut follower, second).1);
    let back = await_health(&mut follower, Level::Led).since(died);
    let most = BACK + watch.total(died, Mono::now());
    eprintln!("led again {back:?} after the second death, of at most {most:?}");
    assert!(back < most, "{back:?}: {}", up.said());
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}
