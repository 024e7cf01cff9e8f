//! An experiment on members that Tandem did not start: it is injected by sealed orders, measured
//! and undone, by the members' own witnesses if the controller is gone.

use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Running, eventually, output, signal_pid, tandem};
use support::held::SOON;
use support::leftovers::is_stopped;
use support::measured::shared_turn;
use support::observed::leader;
use support::orders::Seen;
use tandem::external::LEASE;
use tandem::guard::{Identity, started};
use tandem::live_view::Level;
use tandem::time::Mono;

/// A busy host may take that much longer; no pause here is shorter than 200 s.
pub(super) const SLACK: Duration = Duration::from_secs(20);

/// An experiment that has stopped this member.
fn pausing(seen: &Seen, member: &str) -> Running {
    // An earlier one may still be healing.
    output(tandem(&seen.stage.state()).arg("halt"));
    let step = format!("fault: pause, for: 200s, target: {{member: {member}}}");
    let running = seen.disturb("long-pause", &step).start();
    let pid = seen.pid(member);
    eventually("the pause", SOON, || is_stopped(pid).then_some(()));
    running
}

/// Waits until the member runs again. Returns how long that took.
fn continues(seen: &Seen, member: &str) -> Duration {
    let (pid, began) = (seen.pid(member), Mono::now());
    eventually("the member to continue", SOON, || (!is_stopped(pid)).then_some(()));
    assert!(started(pid).is_some(), "{member} has ended");
    Mono::now().since(began)
}

#[test]
fn members_of_others_are_hit_by_orders_and_what_follows_is_measured_and_undone() {
    let _turn = shared_turn();
    let mut seen = Seen::new();
    let victim = seen.leader();
    let pause = "fault: pause, for: 6s, target: {leader_of: any, group: p1}";
    let paused = seen.disturb("pause", pause).finish();
    let report = paused.report();
    // A busy host may add gaps, and so a verdict that is no pass; what was injected is certain.
    let fault = &report.faults[0];
    assert!(fault.failed.is_none() && fault.healed_ms.is_some(), "{paused}");
    assert!(fault.target.iter().any(|it| it.starts_with(&format!("{victim}."))), "{paused}");
    let gap = |report: &tandem::verdict::Report| {
        let group = report.groups.iter().find(|(name, _)| name.as_str() == "p1").unwrap().1;
        (group.fault.gap.count, group.fault.gap.max_ms.unwrap_or_default())
    };
    let (gaps, longest) = gap(&report);
    // The session is three seconds, and the last heartbeat was 300 ms ago at most; when the member
    // continues, it leads again at the latest.
    assert!(
        gaps > 0 && (2_000.0..10_000.0).contains(&longest),
        "{gaps} gaps, {longest} ms\n{paused}"
    );
    assert!(!is_stopped(seen.pid(&victim)) && started(seen.pid(&victim)).is_some());

    // Killed, and started again by others. The one that was paused may still have to join again,
    // and then leads.
    seen.settles();
    let victim = seen.leader();
    let at = seen.holds.iter().position(|(name, _)| *name == victim).unwrap();
    let kill = "fault: kill, target: {leader_of: any, group: p1}";
    let running = seen.disturb("kill", kill).start();
    let ended = eventually("its death", SOON, || seen.holds[at].1.0.try_wait().unwrap());
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
    // As its host does, after its session.
    eventually("a successor", SOON, || {
        let picture = seen.up.status().1?;
        leader(&picture, "p1").filter(|leader| *leader != victim)
    });
    seen.holds[at].1 = seen.stage.hold("p1", &victim[3..]);
    let killed = running.finish();
    let report = killed.report();
    let fault = &report.faults[0];
    assert!(fault.failed.is_none() && fault.healed_ms.is_some(), "{killed}");
    let (gaps, longest) = gap(&report);
    assert!(
        gaps > 0 && (2_000.0..10_000.0).contains(&longest),
        "{gaps} gaps, {longest} ms\n{killed}"
    );
}

#[test]
fn what_an_order_has_paused_continues_when_its_controller_or_its_witness_is_gone() {
    let _turn = shared_turn();
    let mut seen = Seen::new();
    let victim = "p1-a";
    // It is held for longer than a lease while the controller is there; `halt` ends it.
    let halted = pausing(&seen, victim);
    let began = Mono::now();
    eventually("the end of a lease", SOON, || {
        assert!(is_stopped(seen.pid(victim)), "the lease was not renewed");
        (Mono::now().since(began) > LEASE + Duration::from_secs(1)).then_some(())
    });
    let said = output(tandem(&seen.stage.state()).arg("halt"));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(!is_stopped(seen.pid(victim)), "{said}");
    assert!(said.contains("is healed and ended; seen stays up"), "{said}");
    assert_eq!(halted.finish().code(), Some(130));
    // The process that ordered the experiment is killed.
    seen.up.await_health(Level::Led);
    let killed = pausing(&seen, victim);
    killed.signal(Signal::KILL);
    assert!(continues(&seen, victim) < SLACK);
    drop(killed);
    // The witness is killed; its waker is left.
    seen.up.await_health(Level::Led);
    let witnessed = pausing(&seen, victim);
    seen.stage.witness("a").signal(&[Signal::KILL]).unwrap();
    assert!(continues(&seen, victim) < SLACK);
    drop(witnessed);
    // Its next life has another, which says that the one before is dead.
    seen.holds.remove(0);
    seen.holds.insert(0, (victim.to_owned(), seen.stage.hold("p1", "a")));
    // The supervisor is killed: nothing renews the lease.
    let orphaned = pausing(&seen, "p1-b");
    let supervisor = Identity::of(seen.up.supervisor()).unwrap();
    signal_pid(supervisor.pid, Signal::KILL);
    let took = continues(&seen, "p1-b");
    assert!(took < LEASE + SLACK, "{took:?}");
    orphaned.finish();
}
