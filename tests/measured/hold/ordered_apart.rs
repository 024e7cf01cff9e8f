//! Orders to members on other hosts, whose monotonic clocks are apart by days: a controller on one
//! host has members on the others killed, paused and asked to leave. What happens is known to
//! within the stated error, and undone; no order counts twice, and none counts that is not sealed.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use support::apart::{Apart, HERE, host_of};
use support::experiment::{Experiment, Finished, eventually, signal_pid};
use support::held::SOON;
use support::leftovers::is_stopped;
use support::measured::shared_turn;
use support::namespaces::Namespaces;
use support::orders::{await_refusals, send_what_must_not_count};
use support::pauses_apart::{referee, within};
use tandem::external::LEASE;
use tandem::guard::{Identity, started};
use tandem::kafka::{Access, Cluster};
use tandem::observation::RunEvent;
use tandem::time::Mono;

/// A busy host may take that much longer; no pause of this length is ordered here.
const SLACK: Duration = Duration::from_secs(20);
/// Where the process on the other host finds the key of orders.
const FOLDER: &str = "TANDEM_TEST_APART";

/// The gaps of `p1` in the trial, and the longest. One of a leader that a busy host kept from
/// serving before the fault begins before it.
fn gaps(run: &Finished) -> (usize, f64) {
    let report = run.report();
    let fault = &report.faults[0];
    assert!(fault.failed.is_none() && fault.healed_ms.is_some(), "{run}");
    let timeline = run.timeline();
    let group = timeline.groups.iter().find(|(name, _)| name.as_str() == "p1").unwrap().1;
    let lengths = group.findings.gaps.iter().map(|gap| gap.span.length().as_secs_f64() * 1e3);
    (group.findings.gaps.len(), lengths.fold(0.0, f64::max))
}

#[test]
fn members_on_other_hosts_are_paused_killed_and_asked_to_leave() {
    let _turn = shared_turn();
    let mut apart = Apart::new();
    let victim = apart.leader("p1");
    assert_ne!(host_of(&victim), HERE);
    let truth = referee(apart.pid(&victim));
    let pause = "fault: pause, for: 6s, target: {leader_of: any, group: p1}";
    let paused = apart.disturb("pause", pause).finish();
    let (count, longest) = gaps(&paused);
    // The session is three seconds; the leader leads again when it continues, at the latest.
    assert!(count > 0 && (2_000.0..10_000.0).contains(&longest), "{longest} ms\n{paused}");
    let [stopped, continued] = truth.join().unwrap();
    let facts = paused.recording().facts;
    within(&facts, &victim, &RunEvent::Stopped, stopped);
    within(&facts, &victim, &RunEvent::Continued, continued);

    for step in ["kill", "leave"] {
        apart.settles();
        let victim = apart.leader("p1");
        let step = format!("fault: {step}, target: {{leader_of: any, group: p1}}");
        let running = apart.disturb("end", &step).start();
        let hold = &mut apart.holds.get_mut(&victim).unwrap().0;
        let ended = eventually("its end", SOON, || hold.try_wait().unwrap());
        // Its host starts it again once another has taken over.
        eventually("a successor", SOON, || {
            let picture = apart.up().status().1?;
            let leader = support::observed::leader(&picture, "p1")?;
            (leader != victim).then_some(())
        });
        apart.hold(&victim);
        let ran = running.finish();
        let (count, longest) = gaps(&ran);
        if step.contains("kill") {
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
            assert!(count > 0 && (2_000.0..10_000.0).contains(&longest), "{longest} ms\n{ran}");
        } else {
            assert_eq!(ended.code(), Some(0), "it was not asked to leave");
            assert!(longest < 2_000.0, "{longest} ms: it did not leave\n{ran}");
        }
    }
}

#[test]
fn a_leader_on_another_host_is_cut_off_from_its_brokers_and_others_take_over() {
    let _turn = shared_turn();
    let apart = Apart::new();
    let isolate = Experiment::new("chaos/isolate-leader.yaml").with("--on apart --trials 1");
    let isolated = isolate.by(apart.tandem(HERE)).finish();
    let report = isolated.report();
    let fault = &report.faults[0];
    assert!(fault.failed.is_none() && fault.healed_ms.is_some(), "{isolated}");
    let held = fault.healed_ms.unwrap() - fault.in_force_ms.unwrap();
    assert!(held >= 4_900.0, "{held} ms of 5 s\n{isolated}");
    // The victim holds its claims for longer than the others need.
    assert_eq!(report.joint.gap.count, 0, "{isolated}");
    apart.settles();
}

#[test]
fn a_pause_on_another_host_ends_when_its_controller_is_gone() {
    let _turn = shared_turn();
    let apart = Apart::new();
    let (victim, step) = ("p1-b", "fault: pause, for: 200s, target: {member: p1-b}");
    let running = apart.disturb("long-pause", step).start();
    let pid = apart.pid(victim);
    eventually("the pause", SOON, || is_stopped(pid).then_some(()));
    let began = Mono::now();
    eventually("the end of a lease", SOON, || {
        assert!(is_stopped(pid), "the lease was not renewed");
        (Mono::now().since(began) > LEASE + Duration::from_secs(1)).then_some(())
    });
    let supervisor = Identity::of(apart.up().supervisor()).unwrap();
    signal_pid(supervisor.pid, Signal::KILL);
    let killed = Mono::now();
    eventually("the member to continue", SOON, || (!is_stopped(pid)).then_some(()));
    let took = Mono::now().since(killed);
    assert!(started(pid).is_some() && took < LEASE + SLACK, "{took:?}");
    running.finish();
}

#[test]
fn forged_replayed_and_expired_orders_are_refused_on_other_hosts() {
    let _turn = shared_turn();
    let apart = Apart::new();
    let pause = "fault: pause, for: 1s, target: {member: p1-a}";
    let paused = apart.disturb("pause", pause).finish();
    assert!(paused.report().faults[0].failed.is_none(), "{paused}");
    // From a host that is neither the controller's nor the member's.
    let program = std::env::current_exe().unwrap();
    let other = apart.hosts.on(2, program.to_str().unwrap());
    let mut other: Command = apart.dressed(other, 2);
    other.args(["hold::ordered_apart::on_another_host", "--exact", "--ignored", "--nocapture"]);
    let said = other.env(FOLDER, apart.folder.path()).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    await_refusals(apart.up(), "p1-a");
    assert!(!is_stopped(apart.pid("p1-a")), "it was obeyed");
}

#[test]
#[ignore = "another test starts it, on another host"]
fn on_another_host() {
    // Started with all ignored tests, it has nothing to do.
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let bootstrap = format!("{}:9092", Namespaces::ADDRESSES[HERE]);
    let cluster = Cluster { bootstrap, access: Access::default() };
    let key = fs::read_to_string(std::path::Path::new(&folder).join("orders.key")).unwrap();
    send_what_must_not_count(&cluster, "apart-orders", &key);
}
