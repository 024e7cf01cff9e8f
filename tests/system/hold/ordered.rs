//! An experiment on members that Tandem did not start: it is injected by sealed orders, measured
//! and undone, by the members' own witnesses if the controller is gone; and no order counts twice.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Running, eventually, output, signal_pid, tandem};
use support::held::SOON;
use support::leftovers::is_stopped;
use support::measured::shared_turn;
use support::observed::{Hold, Stage, leader};
use support::orders::{await_refusals, send_what_must_not_count};
use support::up::Up;
use tandem::external::LEASE;
use tandem::guard::{Identity, started};
use tandem::kafka::{Access, Cluster};
use tandem::live_view::Level;
use tandem::time::Mono;

/// A busy host may take that much longer; no pause here is shorter than 200 s.
pub(super) const SLACK: Duration = Duration::from_secs(20);

/// Two groups whose members allow experiments, and what observes them.
pub(super) struct Seen {
    // Dropped first, as its state is in the folder of the stage.
    pub(super) up: Up,
    pub(super) holds: Vec<(String, Hold)>,
    /// The ports of their sidecars.
    pub(super) ports: BTreeMap<String, u16>,
    pub(super) stage: Stage,
}

impl Seen {
    pub(super) fn new() -> Self {
        let stage = Stage::that_allows_chaos();
        let up = Up::start_in(&format!("-f {}", stage.file().display()), &stage.state());
        let all = [("p1", "a"), ("p1", "b"), ("p2", "c"), ("p2", "d")];
        let (mut holds, mut ports) = (Vec::new(), BTreeMap::new());
        for (group, name) in all {
            let (hold, port) = stage.serve(group, name);
            holds.push((format!("{group}-{name}"), hold));
            ports.insert(format!("{group}-{name}"), port);
        }
        let seen = Self { up, holds, ports, stage };
        eventually("all members", SOON, || {
            let picture = seen.up.status().1?;
            let members = picture.groups.values().flat_map(|group| group.members.values());
            let living = members.filter(|member| member.pid.is_some()).count();
            (living == all.len() && picture.health == Level::Led).then_some(())
        });
        seen.settles();
        seen
    }

    /// Waits until the leaders stay for two seconds: members that run may still have to join, and
    /// then take a role from its leader.
    fn settles(&self) {
        let (mut before, mut since) = ([None, None], Mono::now());
        eventually("leaders that stay", SOON, || {
            let picture = self.up.status().1?;
            let now = ["p1", "p2"].map(|group| leader(&picture, group));
            if now != before {
                (before, since) = (now, Mono::now());
            }
            let stay = before.iter().all(Option::is_some);
            (stay && Mono::now().since(since).as_secs() >= 2).then_some(())
        });
    }

    pub(super) fn leader(&self) -> String {
        eventually("a leader", SOON, || leader(&self.up.status().1?, "p1"))
    }

    fn pid(&self, member: &str) -> u32 {
        self.holds.iter().find(|(name, _)| name == member).unwrap().1.0.id()
    }

    /// An experiment with this step.
    pub(super) fn disturb(&self, name: &str, step: &str) -> Experiment {
        let text = format!(
            "version: 1\nname: {name}\ntrials: 1\nsteady_state: {{settled: 1s}}\n\
             objective: {{leaders_per_group: 0}}\nmethod: [{{id: k, at: 0s, {step}}}]\n"
        );
        let experiment = Experiment::of(&format!("{name}.yaml"), &text);
        experiment.with("--on seen").in_state(&self.stage.state())
    }

    /// An experiment that has stopped this member.
    fn pausing(&self, member: &str) -> Running {
        // An earlier one may still be healing.
        output(tandem(&self.stage.state()).arg("halt"));
        let step = format!("fault: pause, for: 200s, target: {{member: {member}}}");
        let running = self.disturb("long-pause", &step).start();
        let pid = self.pid(member);
        eventually("the pause", SOON, || is_stopped(pid).then_some(()));
        running
    }

    /// Waits until the member runs again. Returns how long that took.
    fn continues(&self, member: &str) -> Duration {
        let (pid, began) = (self.pid(member), Mono::now());
        eventually("the member to continue", SOON, || (!is_stopped(pid)).then_some(()));
        assert!(started(pid).is_some(), "{member} has ended");
        Mono::now().since(began)
    }
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

    // What cannot be ordered, and what leaves no leader, is refused.
    let stop = seen.disturb("stop", "fault: stop, target: {leader_of: any, group: p1}").finish();
    assert_eq!(stop.code(), Some(2), "{stop}");
    assert!(stop.stderr.contains("no stop can be ordered"), "{stop}");
    let all = "fault: pause, for: 1s, target: {leader_of: any, across: {groups: all}}";
    let all = seen.disturb("all", all).finish();
    assert_eq!(all.code(), Some(2), "{all}");
    assert!(all.stderr.contains("leaves a leader"), "{all}");
}

#[test]
fn what_an_order_has_paused_continues_when_its_controller_or_its_witness_is_gone() {
    let _turn = shared_turn();
    let mut seen = Seen::new();
    let victim = "p1-a";
    // It is held for longer than a lease while the controller is there; `halt` ends it.
    let halted = seen.pausing(victim);
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
    let killed = seen.pausing(victim);
    killed.signal(Signal::KILL);
    assert!(seen.continues(victim) < SLACK);
    drop(killed);
    // The witness is killed; its waker is left.
    seen.up.await_health(Level::Led);
    let witnessed = seen.pausing(victim);
    seen.stage.witness("a").signal(&[Signal::KILL]).unwrap();
    assert!(seen.continues(victim) < SLACK);
    drop(witnessed);
    // Its next life has another, which says that the one before is dead.
    seen.holds.remove(0);
    seen.holds.insert(0, (victim.to_owned(), seen.stage.hold("p1", "a")));
    // The supervisor is killed: nothing renews the lease.
    let orphaned = seen.pausing("p1-b");
    let supervisor = Identity::of(seen.up.supervisor()).unwrap();
    signal_pid(supervisor.pid, Signal::KILL);
    let took = seen.continues("p1-b");
    assert!(took < LEASE + SLACK, "{took:?}");
    orphaned.finish();
}

#[test]
fn replayed_forged_and_expired_orders_are_refused_and_counted() {
    let _turn = shared_turn();
    let seen = Seen::new();
    let bootstrap = seen.stage.brokers[0].address.clone();
    let cluster = Cluster { bootstrap, access: Access::default() };
    let pause = "fault: pause, for: 1s, target: {member: p1-a}";
    let paused = seen.disturb("pause", pause).finish();
    assert!(paused.report().faults[0].failed.is_none(), "{paused}");
    let key = fs::read_to_string(seen.stage.state().join("tandem/order-keys/seen")).unwrap();
    send_what_must_not_count(&cluster, "seen-orders", &key);
    await_refusals(&seen.up, "p1-a");
    assert!(!is_stopped(seen.pid("p1-a")), "it was obeyed");
    let file = seen.stage.file();
    let text = output(tandem(&seen.stage.state()).arg("status").arg("-f").arg(file));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("refused orders: 1 forged, 1 replayed, 1 expired"), "{text}");
}
