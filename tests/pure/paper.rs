//! One test for each sentence of the protocol of leader induction (NELI), as this project words it.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::ids::{PartitionId, RoleIndex};
use tandem::neli::{Assignment, Config, Event, Heard, Membership, Neli, Pulse};
use tandem::observation::{Ending, Mode};
use tandem::time::Mono;

const T: u64 = 300;
const TAU: u64 = 100;

fn ms(at: u64) -> Mono {
    Mono(at * 1_000_000)
}

fn member(width: u32) -> Neli {
    let config = Config {
        width: NonZeroU32::new(width).unwrap(),
        threshold: Duration::from_millis(T),
        hold: Duration::ZERO,
        beacon: Duration::from_millis(TAU),
        mode: Mode::NonExclusive,
        pulse: Pulse::Clock,
    };
    Neli::new(Mono::ZERO, config)
}

fn beacons(core: &mut Neli) -> BTreeSet<u32> {
    std::iter::from_fn(|| core.poll_beacon()).map(|partition| partition.0).collect()
}

fn hear(core: &mut Neli, at: u64, partition: u32) {
    core.handle_heard(ms(at), Heard { partition: PartitionId(partition), sent: None });
}

/// "Each member publishes a beacon on every partition each interval `tau`. No partition may dry
/// up."
#[test]
fn a_beacon_on_every_partition_each_interval() {
    let mut core = member(5);
    for round in 0..10 {
        core.handle_timeout(ms(round * TAU));
        assert_eq!(beacons(&mut core), (0..5).collect(), "round {round}");
        assert_eq!(core.poll_timeout(), Some(ms((round + 1) * TAU)), "nothing is due before");
        core.handle_timeout(ms(round * TAU + TAU - 1));
        assert_eq!(beacons(&mut core), BTreeSet::new());
    }
}

/// "`V` starts as *never*."
#[test]
fn at_first_no_member_leads() {
    let core = member(3);
    assert!((0..3).all(|partition| !core.leads(Mono::ZERO, PartitionId(partition))));
}

/// "On a message of partition `i` it sets `V[i]`", and no other entry.
#[test]
fn a_message_sets_its_own_entry() {
    let mut core = member(3);
    hear(&mut core, 10, 1);
    let led: Vec<_> = (0..3).filter(|&k| core.leads(ms(10), PartitionId(k))).collect();
    assert_eq!(led, [1]);
}

/// "Role `j` maps to partition `k = j mod |M|`, so every role is mapped whatever the sizes."
#[test]
fn every_role_is_mapped() {
    for (roles, width) in [(1, 1), (3, 5), (5, 3), (1_000, 64)] {
        let width = NonZeroU32::new(width).unwrap();
        for role in 0..roles {
            let partition = RoleIndex(role).partition(width);
            assert_eq!(partition.0, role % width);
        }
    }
}

/// "`|M|` is read once at start": a member never leads a partition that appears later.
#[test]
fn a_ledger_that_grows_changes_nothing() {
    let mut core = member(2);
    hear(&mut core, 10, 2);
    assert!(!core.leads(ms(10), PartitionId(2)));
    assert_eq!(core.poll_event(), None);
}

/// Non-exclusive: revocation "ends no claim: only lapse, leave or death does".
#[test]
fn losing_a_partition_ends_no_claim() {
    let taken = vec![PartitionId(0)];
    for change in [Membership::Revoked(taken.clone()), Membership::Lost(taken.clone())] {
        let mut core = member(1);
        hear(&mut core, 10, 0);
        core.handle_membership(ms(20), &change);
        assert!(core.leads(ms(10 + T - 1), PartitionId(0)));
        assert!(!core.leads(ms(10 + T), PartitionId(0)), "it lapses all the same");
    }
    let mut core = member(1);
    hear(&mut core, 10, 0);
    core.handle_leave(ms(20));
    assert!(!core.leads(ms(20), PartitionId(0)), "who leaves leads nothing");
}

/// An assignment alone proves nothing: leadership is induced by a message.
#[test]
fn an_assignment_is_no_claim() {
    let mut core = member(1);
    let partitions = vec![PartitionId(0)];
    let assignment = Assignment { generation: None, member_id: None, partitions };
    core.handle_membership(ms(10), &Membership::Assigned(assignment));
    assert!(!core.leads(ms(10), PartitionId(0)));
}

proptest! {
    #![proptest_config(cases(0x5EED_0020, 256))]

    /// "It leads partition `i` at `t` iff `V[i] > t - T`": compared with the sentence itself, for
    /// messages at any time and late timers. Its events agree with its answers.
    #[test]
    fn it_leads_if_and_only_if(
        steps in prop::collection::vec((0u64..200, 0u32..3, 0u8..3), 0..60),
    ) {
        let mut core = member(3);
        let mut heard: [Option<u64>; 3] = [None; 3];
        let mut claimed = BTreeSet::new();
        let mut now = 0;
        for (pause, partition, kind) in steps {
            now += pause;
            if kind == 0 {
                core.handle_timeout(ms(now));
            } else {
                hear(&mut core, now, partition);
                *heard.get_mut(PartitionId(partition).index()).unwrap() = Some(now);
            }
            while let Some(event) = core.poll_event() {
                match event {
                    Event::Acquired { claim, from, .. } => {
                        prop_assert!(claimed.insert(claim.partition));
                        prop_assert_eq!(from, ms(now));
                    }
                    Event::Ended { claim, .. } => {
                        prop_assert!(claimed.remove(&claim.partition));
                        prop_assert!(claim.until <= ms(now), "a claim ends when it lapses");
                    }
                }
            }
            for (partition, heard) in (0..).map(PartitionId).zip(heard) {
                let sentence = heard.is_some_and(|v| v + T > now);
                prop_assert_eq!(core.leads(ms(now), partition), sentence);
                prop_assert_eq!(claimed.contains(&partition), sentence);
            }
        }
    }
}

/// A member of a group in the fast mode, which holds the partition from the start.
fn fast(pulse: Pulse) -> Neli {
    let config = Config {
        width: NonZeroU32::MIN,
        threshold: Duration::from_millis(T),
        hold: Duration::ZERO,
        beacon: Duration::from_millis(TAU),
        mode: Mode::Fast,
        pulse,
    };
    let mut core = Neli::new(Mono::ZERO, config);
    let partitions = vec![PartitionId(0)];
    let assignment = Assignment { generation: None, member_id: None, partitions };
    core.handle_membership(Mono::ZERO, &Membership::Assigned(assignment));
    core
}

/// Fast: "partition 0 only, only its owner publishes", and it "leads at once".
#[test]
fn in_fast_mode_the_owner_alone_publishes_and_leads_at_once() {
    let mut owner = fast(Pulse::Clock);
    assert!(owner.leads(Mono::ZERO, PartitionId(0)));
    assert_eq!(beacons(&mut owner), [0].into());
    owner.handle_membership(ms(50), &Membership::Revoked(vec![PartitionId(0)]));
    for at in (100..1_000).step_by(50) {
        owner.handle_timeout(ms(at));
        assert_eq!(beacons(&mut owner), BTreeSet::new(), "it holds nothing");
    }
}

/// Fast: "revoked or lost: ends the claim at once".
#[test]
fn in_fast_mode_a_revocation_ends_the_claim() {
    for change in [Membership::Revoked, Membership::Lost] {
        let mut core = fast(Pulse::Clock);
        core.handle_membership(ms(7), &change(vec![PartitionId(0)]));
        assert!(!core.leads(ms(7), PartitionId(0)));
        let last = std::iter::from_fn(|| core.poll_event()).last();
        let ended = |event| match event {
            Event::Ended { claim, why } => (claim.until, why),
            Event::Acquired { .. } => panic!("it began"),
        };
        assert_eq!(last.map(ended), Some((ms(7), Ending::Revoked)));
    }
}

proptest! {
    #![proptest_config(cases(0x5EED_0021, 256))]

    /// Fast: "fenced when nothing is heard for `Q`", where only the owner's own messages count, and
    /// each by the instant of its sending. For any arrivals and delays, a claim reaches `Q`
    /// from the latest of its own messages, or from the assignment, and no further.
    #[test]
    fn in_fast_mode_a_claim_reaches_q_from_the_latest_own_message(
        messages in proptest::collection::vec((0_u64..2_000, 0_u64..600, any::<bool>()), 0..40)
    ) {
        let mut arrivals: Vec<(u64, u64, bool)> =
            messages.iter().map(|&(sent, late, own)| (sent + late, sent, own)).collect();
        arrivals.sort_unstable();
        let (mut core, mut latest) = (fast(Pulse::Clock), 0);
        for (at, sent, own) in arrivals {
            let sent_by_it = own.then_some(ms(sent));
            core.handle_heard(ms(at), Heard { partition: PartitionId(0), sent: sent_by_it });
            if own {
                latest = latest.max(sent);
            }
            for later in [at, latest + T - 1, latest + T].into_iter().filter(|it| *it >= at) {
                prop_assert_eq!(core.leads(ms(later), PartitionId(0)), later < latest + T);
            }
        }
    }

    /// A program that pulses its member publishes each interval at most, and after a pulse only.
    #[test]
    fn a_pulse_lets_one_beacon_go(pulses in proptest::collection::btree_set(1_u64..3_000, 0..60)) {
        let mut core = fast(Pulse::Program);
        let (mut sent, mut waiting, mut last) = (0, false, None::<u64>);
        for at in 1..3_000 {
            if pulses.contains(&at) {
                core.handle_pulse(ms(at));
                waiting = true;
            } else {
                core.handle_timeout(ms(at));
            }
            let count = beacons(&mut core).len();
            if count > 0 {
                prop_assert!(waiting, "no pulse came since the last, at {}", at);
                prop_assert!(last.is_none_or(|last| at - last >= TAU), "{:?} and {}", last, at);
                (waiting, last) = (false, Some(at));
            }
            sent += count;
        }
        prop_assert!(sent <= pulses.len() && (sent > 0 || pulses.is_empty()));
    }
}

/// What happens to a member in exclusive mode.
#[derive(Debug, Clone, Copy)]
enum Step {
    Heard,
    /// A proof, of this age.
    Proof(u64),
    Assigned,
    Revoked,
    Lost,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let what = prop_oneof![
        6 => Just(Step::Heard),
        6 => (0_u64..50).prop_map(Step::Proof),
        2 => Just(Step::Assigned),
        1 => Just(Step::Revoked),
        1 => Just(Step::Lost),
    ];
    (0_u64..T / 2, what)
}

proptest! {
    #![proptest_config(cases(0x5EED_0022, 256))]

    /// Exclusive: "a member claims `k` only while `k` is assigned in this generation and `now -
    /// min(H, A) < T`", and it leads partition `i` "iff `V[i] > t - T`", where both count since the
    /// assignment. Against these sentences, word by word.
    #[test]
    fn in_exclusive_mode_a_member_leads_while_it_hears_and_proves(
        steps in proptest::collection::vec(step(), 0..60)
    ) {
        let config = Config {
            width: NonZeroU32::MIN,
            threshold: Duration::from_millis(T),
            hold: Duration::ZERO,
            beacon: Duration::from_millis(TAU),
            mode: Mode::Exclusive,
            pulse: Pulse::Clock,
        };
        let (mut core, k) = (Neli::new(Mono::ZERO, config), PartitionId(0));
        let (mut assigned, mut heard, mut proved) = (false, None::<u64>, None::<u64>);
        let mut now = 0;
        for (after, step) in steps {
            // No claim begins between two inputs, so that one is enough to look at.
            for at in [now + after / 2, now + after] {
                let fresh = |it: Option<u64>| it.is_some_and(|it| it + T > at);
                let sentence = assigned && fresh(heard) && fresh(proved);
                prop_assert_eq!(core.leads(ms(at), k), sentence, "at {}", at);
            }
            now += after;
            match step {
                Step::Heard => {
                    core.handle_heard(ms(now), Heard { partition: k, sent: None });
                    heard = Some(now).filter(|_| assigned).or(heard);
                }
                Step::Proof(age) => {
                    // A proof is of this generation, and never older than the last.
                    let since = now.saturating_sub(age).max(proved.unwrap_or(0));
                    core.handle_proof(ms(now), Some(ms(since)));
                    proved = Some(since);
                }
                Step::Assigned => {
                    let partitions = vec![k];
                    let given = Assignment { generation: None, member_id: None, partitions };
                    core.handle_membership(ms(now), &Membership::Assigned(given));
                    (assigned, heard, proved) = (true, None, None);
                }
                Step::Revoked | Step::Lost => {
                    let change = match step {
                        Step::Revoked => Membership::Revoked(vec![k]),
                        _ => Membership::Lost(vec![k]),
                    };
                    core.handle_membership(ms(now), &change);
                    (assigned, heard, proved) = (false, None, None);
                }
            }
            core.handle_timeout(ms(now));
        }
    }
}
