//! A group that elects by ALLCALL over NATS, beside one by NELI, with real processes and a real
//! NATS. Where a member, or all, are cut off, leaders lead on, others lead beside them, and one is
//! left soon after all reach each other again.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Finished, Running, eventually};
use support::measured::shared_turn;
use support::nats::{Nats, mixed};
use support::relay::Relay;
use support::stores::{await_led, claims, pid_of, unexplained_gaps};
use tandem::ids::{GroupName, Life, PartitionId};
use tandem::observation::{Ending, MemberEvent, What};
use tandem::time::Mono;

/// Lease, skew and heartbeat: the longest that two may lead once they reach each other.
const MEET: Duration = Duration::from_millis(1_100);
const PATIENCE: Duration = Duration::from_secs(60);

/// The times at which claims of the group on partition 0 began, and whose.
fn of_first(run: &Running) -> Vec<(Mono, Life)> {
    claims(&run.facts(), "p2", PartitionId(0))
}

/// The only one that claims partition 0.
fn leader(run: &Running) -> Life {
    eventually("one leader", PATIENCE, || {
        let mut leaders = BTreeSet::new();
        for fact in run.facts() {
            let Some(life) = fact.life.filter(|it| it.member.as_str().starts_with("p2-")) else {
                continue;
            };
            match fact.what {
                What::Member(MemberEvent::Claimed { partition: PartitionId(0), .. }) => {
                    leaders.insert(life);
                }
                What::Member(MemberEvent::Lapsed { partition: PartitionId(0), .. }) => {
                    leaders.remove(&life);
                }
                _ => {}
            }
        }
        if leaders.len() == 1 { leaders.pop_first() } else { None }
    })
}

/// Waits until one that leads beside another ends its claim, after this instant.
fn await_yielded(run: &Running, since: Mono) {
    run.await_facts("a leader that yields", |facts| {
        let yields = |what: &What| {
            matches!(what, What::Member(MemberEvent::Lapsed { why, at, .. })
                if *at > since && *why == Ending::Revoked)
        };
        let of = |life: &Life| life.member.as_str().starts_with("p2-");
        let all = facts.iter().filter(|fact| fact.life.as_ref().is_some_and(of));
        all.into_iter().any(|fact| yields(&fact.what)).then_some(())
    });
}

/// No role was without a leader, two led, and from `met` on, when all reach each other again, for
/// at most `MEET`, and what the host did not schedule.
fn two_led_until_they_met(run: &Finished, met: &[Mono]) {
    assert_eq!(unexplained_gaps(run, "p2"), [], "those that are cut off lead on: {run}");
    let timeline = run.timeline();
    let stall = timeline.record.stalls.iter().map(|stall| stall.length()).max();
    let most = MEET + stall.unwrap_or_default();
    let findings = &timeline.groups[&"p2".parse::<GroupName>().unwrap()].findings;
    assert!(!findings.overlaps.is_empty(), "two lead while they do not reach each other: {run}");
    for overlap in &findings.overlaps {
        let (from, until) = (overlap.span.from, overlap.span.until);
        let met = met.iter().copied().filter(|met| *met <= until).max();
        let after = until.since(met.unwrap_or(until).max(from));
        println!("an overlap of {:?}, until {after:?} after all met", until.since(from));
        assert!(after <= most, "{after:?}, {run}");
    }
}

/// The greatest rank need not be its own: which of the two yields is not said.
#[test]
fn a_leader_that_is_cut_off_leads_beside_another_until_the_network_heals() {
    let _turn = shared_turn();
    let nats = Nats::up();
    let relay = Relay::to(&nats.address);
    let run = Experiment::calm("600s").with(&mixed(&relay.address)).start();
    await_led(&run, &["p1", "p2"]);
    let mut met = Vec::new();
    for _ in 0..3 {
        let leader = leader(&run);
        let cut = Mono::now();
        relay.cut(pid_of(&run.facts(), &leader));
        eventually("another leader", PATIENCE, || {
            of_first(&run).iter().any(|(at, life)| *at > cut && *life != leader).then_some(())
        });
        relay.heal();
        let healed = Mono::now();
        met.push(healed);
        await_yielded(&run, healed);
    }
    run.signal(Signal::INT);
    two_led_until_they_met(&run.finish(), &met);
}

/// All lead when none reaches another, and one of them when NATS is back.
#[test]
fn without_nats_each_member_leads_and_one_when_it_is_back() {
    let _turn = shared_turn();
    let nats = Nats::up();
    let run = Experiment::calm("600s").with(&nats.mixed()).start();
    await_led(&run, &["p1", "p2"]);
    nats.kill();
    let killed = Mono::now();
    eventually("three leaders", PATIENCE, || {
        let mut lives: Vec<_> = of_first(&run).into_iter().map(|(_, life)| life).collect();
        lives.sort();
        lives.dedup();
        (lives.len() == 3).then_some(())
    });
    run.await_facts("members that say that NATS is away", |facts| {
        let away = |what: &What| matches!(what, What::Member(MemberEvent::Unconnected { .. }));
        facts.iter().any(|fact| fact.t > killed && away(&fact.what)).then_some(())
    });
    let away = Mono::now();
    nats.start_again();
    let back = Mono::now();
    await_yielded(&run, killed);
    eventually("a while with NATS", PATIENCE, || (Mono::now() > back + 2 * MEET).then_some(()));
    run.signal(Signal::INT);
    let run = run.finish();
    two_led_until_they_met(&run, &[back]);
    let timeline = run.timeline();
    let overlaps = &timeline.groups[&"p2".parse::<GroupName>().unwrap()].findings.overlaps;
    assert!(overlaps.iter().any(|overlap| overlap.span.until > away), "they last until then");
}
