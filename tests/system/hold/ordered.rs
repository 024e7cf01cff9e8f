//! An experiment on members that Tandem did not start: it is injected by sealed orders and undone,
//! by the members' own witnesses if nothing renews it; and no order counts twice. What it costs,
//! and how soon its end comes, on a quiet host: `tests/measured/hold/ordered.rs`.

use std::os::unix::process::ExitStatusExt as _;

use rustix::process::Signal;
use support::experiment::{eventually, output, tandem};
use support::held::SOON;
use support::leftovers::is_stopped;
use support::observed::{Stage, leader};
use support::orders::{Orders, Seen, await_refusals, up_on};
use support::web::get;
use tandem::external::Deed;
use tandem::guard::started;
use tandem::observation::{MemberEvent, What};
use tandem::verdict::Report;

/// The member that the only fault of a run has hit, and that it was hit in its first life.
fn victim(report: &Report) -> String {
    let [life] = &report.faults[0].target[..] else { panic!("{:?}", report.faults) };
    life.strip_suffix(".1").unwrap().to_owned()
}

fn continues(pid: u32) {
    eventually("the member to continue", SOON, || (!is_stopped(pid)).then_some(()));
    assert!(started(pid).is_some(), "it has ended");
}

#[test]
fn members_of_others_are_hit_by_orders_and_what_follows_is_undone() {
    let mut seen = Seen::new();
    let pause = "fault: pause, for: 1s, target: {leader_of: any, group: p1}";
    let paused = seen.disturb("pause", pause).finish();
    let one = victim(&paused.sound());
    assert!(one.starts_with("p1-"), "{paused}");
    continues(seen.pid(&one));

    // Killed, and started again by others.
    let kill = "fault: kill, target: {leader_of: any, group: p1}";
    let running = seen.disturb("kill", kill).start();
    let (at, ended) = eventually("a death", SOON, || {
        let mut all = seen.holds.iter_mut().enumerate();
        all.find_map(|(at, (_, hold))| Some((at, hold.0.try_wait().unwrap()?)))
    });
    assert_eq!(ended.signal(), Some(9));
    let one = seen.holds[at].0.clone();
    // As its host does, after its session.
    eventually("a successor", SOON, || {
        leader(&seen.up.status().1?, "p1").filter(|leader| *leader != one)
    });
    seen.holds[at].1 = seen.stage.hold("p1", &one[3..]);
    let killed = running.finish();
    assert_eq!(victim(&killed.sound()), one, "{killed}");

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
fn what_an_order_has_paused_continues_when_nothing_renews_it_or_its_witness_is_gone() {
    let stage = Stage::that_allows_chaos();
    let up = up_on(&stage);
    let held = stage.hold("p1", "a");
    let pid = held.0.id();
    let mut orders = Orders::to(&stage, &up, "p1-a");
    orders.until("the pause", Deed::Pause, || is_stopped(pid));
    continues(pid);
    // The witness is killed; its waker is left.
    orders.until("the next pause", Deed::Pause, || is_stopped(pid));
    stage.witness("a").signal(&[Signal::KILL]).unwrap();
    continues(pid);
}

#[test]
fn what_an_order_has_cut_off_reports_all_the_same_and_is_back_when_nothing_renews_it() {
    let stage = Stage::that_allows_chaos();
    let up = up_on(&stage);
    let (_held, port) = stage.serve("p1", "a");
    let answers = |wanted: u16| get(port, "/readyz").is_ok_and(|(status, _)| status == wanted);
    eventually("a member that reaches its brokers", SOON, || answers(200).then_some(()));
    let mut orders = Orders::to(&stage, &up, "p1-a");
    let has_said = || {
        let facts = up.recording().facts;
        facts.iter().any(|fact| {
            let of = fact.life.as_ref().is_some_and(|life| life.member.as_str() == "p1-a");
            of && matches!(fact.what, What::Member(MemberEvent::Unconnected { .. }))
        })
    };
    orders.until("its word that it reaches no broker", Deed::Cut, || answers(503) && has_said());
    eventually("a member that is back", SOON, || answers(200).then_some(()));
}

#[test]
fn replayed_forged_and_expired_orders_are_refused_and_counted() {
    let stage = Stage::that_allows_chaos();
    let up = up_on(&stage);
    let held = stage.hold("p1", "a");
    let pid = held.0.id();
    let mut orders = Orders::to(&stage, &up, "p1-a");
    // From then on its witness listens.
    orders.until("the pause", Deed::Pause, || is_stopped(pid));
    orders.give(Deed::Continue);
    continues(pid);
    orders.give_what_must_not_count();
    await_refusals(&up, "p1-a");
    assert!(!is_stopped(pid), "it was obeyed");
    let text = output(tandem(&stage.state()).arg("status").arg("-f").arg(stage.file()));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("refused orders: 1 forged, 1 replayed, 1 expired"), "{text}");
}
