//! A member that Tandem did not start is cut off from its brokers by an order, while its facts go
//! on to arrive; and it reaches them again when the step, its controller or its witness is over.

use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Running, eventually, output, signal_pid, tandem};
use support::held::SOON;
use support::measured::shared_turn;
use support::observed::leader;
use support::orders::Seen;
use support::web::get;
use tandem::external::LEASE;
use tandem::guard::Identity;
use tandem::live_view::Level;
use tandem::time::Mono;

use super::ordered::SLACK;

/// Waits until the member reaches its brokers, or says that it does not. Returns how long.
fn reaches(seen: &Seen, member: &str, reached: bool) -> Duration {
    let (port, began) = (seen.ports[member], Mono::now());
    let status = if reached { 200 } else { 503 };
    eventually(&format!("{status} of {member}"), SOON, || {
        let (found, _) = get(port, "/readyz").ok()?;
        (found == status).then_some(())
    });
    Mono::now().since(began)
}

/// An experiment that has cut this member off.
fn cutting(seen: &Seen, member: &str) -> Running {
    // An earlier one may still be healing.
    output(tandem(&seen.stage.state()).arg("halt"));
    seen.up.await_health(Level::Led);
    let step = format!("fault: partition, for: 200s, target: {{member: {member}}}");
    let running = seen.disturb("long-cut", &step).start();
    reaches(seen, member, false);
    running
}

#[test]
fn a_leader_is_cut_off_by_an_order_and_its_facts_arrive_all_the_same() {
    let _turn = shared_turn();
    let seen = Seen::new();
    let victim = seen.leader();
    let step = "fault: partition, for: 20s, target: {leader_of: any, group: p1}";
    let running = seen.disturb("cut", step).start();
    reaches(&seen, &victim, false);
    eventually("its word that it reaches no broker", SOON, || {
        let reasons = seen.up.status().1?.reasons;
        reasons.members.keys().any(|member| member.as_str() == victim).then_some(())
    });
    // Its claims last for nine seconds, and those of its successor begin before that.
    eventually("a successor", SOON, || {
        leader(&seen.up.status().1?, "p1").filter(|leader| *leader != victim)
    });
    let cut = running.finish();
    let report = cut.report();
    let fault = &report.faults[0];
    assert!(fault.failed.is_none(), "{cut}");
    let held = fault.healed_ms.unwrap() - fault.in_force_ms.unwrap();
    assert!((19_900.0..40_000.0).contains(&held), "{held} ms of 20 s\n{cut}");
    assert!(fault.target.iter().any(|it| it.starts_with(&format!("{victim}."))), "{cut}");
    reaches(&seen, &victim, true);
}

#[test]
fn what_an_order_has_cut_passes_again_when_its_controller_or_its_witness_is_gone() {
    let _turn = shared_turn();
    let mut seen = Seen::new();
    let victim = "p1-a";
    // It lasts for longer than a lease while the controller is there; `halt` ends it.
    let halted = cutting(&seen, victim);
    let began = Mono::now();
    eventually("the end of a lease", SOON, || {
        let status = get(seen.ports[victim], "/readyz").ok()?.0;
        assert_eq!(status, 503, "the lease was not renewed");
        (Mono::now().since(began) > LEASE + Duration::from_secs(1)).then_some(())
    });
    let said = output(tandem(&seen.stage.state()).arg("halt"));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("is healed and ended; seen stays up"), "{said}");
    assert_eq!(halted.finish().code(), Some(130));
    reaches(&seen, victim, true);
    // The witness is killed; the member sees that.
    let witnessed = cutting(&seen, victim);
    seen.stage.witness("a").signal(&[Signal::KILL]).unwrap();
    assert!(reaches(&seen, victim, true) < SLACK, "its witness is gone");
    drop(witnessed);
    // Its next life has another, which says that the one before is dead.
    seen.holds.remove(0);
    let (hold, port) = seen.stage.serve("p1", "a");
    seen.holds.insert(0, (victim.to_owned(), hold));
    seen.ports.insert(victim.to_owned(), port);
    // The supervisor is killed: nothing renews the lease.
    let orphaned = cutting(&seen, "p1-b");
    let supervisor = Identity::of(seen.up.supervisor()).unwrap();
    signal_pid(supervisor.pid, Signal::KILL);
    let took = reaches(&seen, "p1-b", true);
    assert!(took < LEASE + SLACK, "{took:?}");
    orphaned.finish();
}
