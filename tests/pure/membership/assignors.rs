//! Assignors: the examples of Kafka's documentation, and what holds for any group.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use support::cases::cases;
use tandem::ids::PartitionId;
use tandem::neli::membership::{Assignor, Assignors, Candidate, Partitions, Shares};
use tandem::topology::{SlotHash, Slots};

fn candidate(id: &str, topics: &[&str]) -> Candidate {
    let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
    Candidate { member_id: id.to_owned(), topics, ..Candidate::default() }
}

fn topics(of: &[(&str, u32)]) -> BTreeMap<String, u32> {
    of.iter().map(|(topic, width)| ((*topic).to_owned(), *width)).collect()
}

/// As `a: t0 t1 | b: u0`.
fn show(shares: &Shares) -> String {
    let share = |(id, share): (&String, &Partitions)| {
        let slots = share.iter().flat_map(|(t, ks)| ks.iter().map(move |k| format!(" {t}{k}")));
        format!("{id}:{}", slots.collect::<String>())
    };
    shares.iter().map(share).collect::<Vec<_>>().join(" | ")
}

/// The candidates as they would join again, with what they were given.
fn again(members: &[Candidate], shares: &Shares, generation: i32) -> Vec<Candidate> {
    let with = |member: &Candidate| Candidate {
        owned: shares.get(&member.member_id).cloned().unwrap_or_default(),
        generation: Some(generation),
        ..member.clone()
    };
    members.iter().map(with).collect()
}

#[test]
fn range_gives_runs_topic_by_topic() {
    let members = [candidate("b", &["t", "u"]), candidate("a", &["t", "u"])];
    let shares = Assignor::Range.assign(&topics(&[("t", 3), ("u", 3)]), &members);
    assert_eq!(show(&shares), "a: t0 t1 u0 u1 | b: t2 u2");
    // One that does not subscribe, and one more than there are partitions.
    let members = [candidate("a", &["t"]), candidate("b", &["t"]), candidate("c", &["u"])];
    let shares = Assignor::Range.assign(&topics(&[("t", 1), ("u", 2)]), &members);
    assert_eq!(show(&shares), "a: t0 | b: | c: u0 u1");
}

#[test]
fn roundrobin_gives_in_turn_and_passes_over_those_that_do_not_subscribe() {
    let members = [candidate("a", &["t", "u"]), candidate("b", &["t", "u"])];
    let shares = Assignor::RoundRobin.assign(&topics(&[("t", 3), ("u", 3)]), &members);
    assert_eq!(show(&shares), "a: t0 t2 u1 | b: t1 u0 u2");
    let members =
        [candidate("a", &["t"]), candidate("b", &["t", "u"]), candidate("c", &["t", "u", "v"])];
    let shares = Assignor::RoundRobin.assign(&topics(&[("t", 1), ("u", 2), ("v", 3)]), &members);
    assert_eq!(show(&shares), "a: t0 | b: u0 | c: u1 v0 v1 v2");
}

#[test]
fn static_members_come_first_and_by_their_instance_ids() {
    let with = |id: &str, instance: &str| Candidate {
        instance_id: Some(instance.to_owned()),
        ..candidate(id, &["t"])
    };
    let members = [candidate("a", &["t"]), with("z", "i1"), with("b", "i2")];
    let shares = Assignor::Range.assign(&topics(&[("t", 3)]), &members);
    assert_eq!(show(&shares), "a: t2 | b: t1 | z: t0");
}

#[test]
fn sticky_moves_no_more_than_an_even_share() {
    let (all, members) = (topics(&[("t", 8)]), ["a", "b"].map(|id| candidate(id, &["t"])));
    let first = Assignor::Sticky.assign(&all, &members);
    assert_eq!(show(&first), "a: t0 t2 t4 t6 | b: t1 t3 t5 t7");
    let mut members = again(&members, &first, 1);
    members.push(candidate("c", &["t"]));
    let second = Assignor::Sticky.assign(&all, &members);
    assert_eq!(show(&second), "a: t0 t2 t4 | b: t1 t3 t5 | c: t6 t7");
    // One goes: what it had is shared out, and nothing else moves.
    let third = Assignor::Sticky.assign(&all, &again(&members[1..], &second, 2));
    assert_eq!(show(&third), "b: t1 t2 t3 t5 | c: t0 t4 t6 t7");
}

/// How many of so many partitions have another owner after a sixth member has joined five.
fn moved_to_a_sixth(assignor: Assignor, width: u32) -> usize {
    let (all, five) = (topics(&[("t", width)]), ["a", "b", "c", "d", "e"]);
    let five = five.map(|id| candidate(id, &["t"]));
    let first = assignor.assign(&all, &five);
    let mut six = again(&five, &first, 1);
    // It sorts before the others, as a random id may.
    six.push(candidate("0", &["t"]));
    let (before, after) = (owners(&first, &five), owners(&assignor.assign(&all, &six), &six));
    before.iter().filter(|(slot, owner)| after.get(slot) != Some(owner)).count()
}

#[test]
fn a_sixth_member_moves_a_quarter_at_most_where_the_assignor_is_sticky() {
    for width in 1..=200 {
        let moved = moved_to_a_sixth(Assignor::Sticky, width);
        assert!(moved * 4 <= usize::try_from(width).unwrap(), "{moved} of {width}");
    }
    assert_eq!(moved_to_a_sixth(Assignor::Sticky, 60), 10);
    assert!(moved_to_a_sixth(Assignor::RoundRobin, 60) > 45, "what that saves");
}

/// The shares of 100,000 keys, in a thousandth, whose leader is another one after a sixth member
/// has joined five, and after it has left again.
fn keys_moved(assignor: Assignor, width: u32) -> [usize; 2] {
    const KEYS: usize = 100_000;
    let slots = Slots { count: 16_384, hash: SlotHash::Murmur2 };
    let (all, five) = (topics(&[("t", width)]), ["b", "c", "d", "e", "f"]);
    let five = five.map(|id| candidate(id, &["t"]));
    // A cooperative assignor takes some generations.
    let rest = |members: &[Candidate], first: i32| {
        let mut members = members.to_vec();
        for generation in first..first + 8 {
            members = again(&members, &assignor.assign(&all, &members), generation);
        }
        members
    };
    let first = rest(&five, 1);
    let mut six = first.clone();
    six.push(candidate("a", &["t"]));
    let second = rest(&six, 10);
    let third = rest(&second[..5], 20);
    let [first, second, third] = [first, second, third].map(|members| {
        let shares = members.iter().map(|it| (it.member_id.clone(), it.owned.clone())).collect();
        owners(&shares, &members)
    });
    // As many roles as partitions: each is on its own.
    let on = |key: usize| {
        let role = slots.role_of_slot(slots.slot_of(format!("user-{key}").as_bytes()), width);
        ("t".to_owned(), PartitionId(role.0))
    };
    let moved = |before: &BTreeMap<_, _>, after: &BTreeMap<_, _>| {
        let moves = |key: &usize| before.get(&on(*key)) != after.get(&on(*key));
        (0..KEYS).filter(moves).count() * 1_000 / KEYS
    };
    [moved(&first, &second), moved(&second, &third)]
}

#[test]
fn few_keys_move_when_a_sixth_member_comes_and_goes_where_the_assignor_is_sticky() {
    let rows = [64, 1_000].map(|width| {
        let all = [Assignor::RoundRobin, Assignor::Range, Assignor::CooperativeSticky];
        all.map(|it| keys_moved(it, width))
    });
    eprintln!("{rows:?}");
    for [roundrobin, _, sticky] in rows {
        assert!(sticky.iter().all(|moved| *moved <= 200), "{sticky:?}");
        assert!(roundrobin.iter().all(|moved| *moved > 700), "{roundrobin:?}");
    }
}

#[test]
fn the_latest_generation_counts_and_a_tie_gives_it_to_neither() {
    let all = topics(&[("t", 4)]);
    let owns = |id: &str, ks: &[u32], generation| Candidate {
        owned: [("t".to_owned(), ks.iter().copied().map(PartitionId).collect())].into(),
        generation,
        ..candidate(id, &["t"])
    };
    let stale = [owns("a", &[0, 1], Some(3)), owns("b", &[1, 2, 3], Some(4))];
    assert_eq!(show(&Assignor::Sticky.assign(&all, &stale)), "a: t0 t3 | b: t1 t2");
    // `a` may still hold t1, so `b`, which holds it as well, goes on; t3 has to be let go of.
    let shares = Assignor::CooperativeSticky.assign(&all, &stale);
    assert_eq!(show(&shares), "a: t0 | b: t1 t2");
    let tied = [owns("a", &[0, 1], Some(4)), owns("b", &[1, 2], Some(4))];
    assert_eq!(show(&Assignor::Sticky.assign(&all, &tied)), "a: t0 t1 | b: t2 t3");
    // More than there is, and a topic that it does not want any more.
    let odd = [owns("a", &[0, 9], None), Candidate { topics: BTreeSet::new(), ..stale[1].clone() }];
    assert_eq!(show(&Assignor::Sticky.assign(&all, &odd)), "a: t0 t1 t2 t3 | b:");
    // Nothing of what `b` holds is given away before it lets go of it.
    assert_eq!(show(&Assignor::CooperativeSticky.assign(&all, &odd)), "a: t0 | b:");
}

#[test]
fn names_are_kafkas_and_lists_do_not_mix_eager_with_cooperative() {
    let named = |list| Assignors::parse(list).map(|it| it.iter().map(Assignor::name).collect());
    assert_eq!(named("range, roundrobin"), Some(vec!["range", "roundrobin"]));
    assert_eq!(named("cooperative-sticky"), Some(vec!["cooperative-sticky"]));
    assert_eq!(named("sticky,cooperative-sticky"), None);
    assert_eq!(named("range,uniform"), None);
    assert_eq!(named(""), None);
}

fn shared() -> impl Strategy<Value = (BTreeMap<String, u32>, Vec<Candidate>)> {
    let topics = prop::collection::btree_map("[t-v]", 0_u32..12, 1..4);
    let wants = prop::collection::btree_set("[t-v]", 0..4);
    let owned = prop::collection::btree_map(
        "[t-v]",
        prop::collection::btree_set((0_u32..14).prop_map(PartitionId), 0..5),
        0..3,
    );
    let member = (wants, owned, prop::option::of(0..3));
    (topics, prop::collection::vec(member, 1..6)).prop_map(|(topics, members)| {
        let named = |(at, (topics, owned, generation))| Candidate {
            member_id: format!("m{at}"),
            instance_id: None,
            topics,
            owned,
            generation,
            unreachable: Partitions::new(),
        };
        (topics, members.into_iter().enumerate().map(named).collect())
    })
}

/// The same members, of which some do not reach some partitions.
fn hindered() -> impl Strategy<Value = (BTreeMap<String, u32>, Vec<Candidate>)> {
    let lacks = prop::collection::btree_map(
        "[t-v]",
        prop::collection::btree_set((0_u32..14).prop_map(PartitionId), 0..5),
        0..3,
    );
    (shared(), prop::collection::vec(lacks, 6)).prop_map(|((topics, members), lacks)| {
        let with = |(member, unreachable)| Candidate { unreachable, ..member };
        (topics, members.into_iter().zip(lacks).map(with).collect())
    })
}

fn reaches(member: &Candidate, topic: &str, k: PartitionId) -> bool {
    !member.unreachable.get(topic).is_some_and(|lacks| lacks.contains(&k))
}

/// Who has each partition; panics where two have it, or one that does not want it.
fn owners(shares: &Shares, members: &[Candidate]) -> BTreeMap<(String, PartitionId), String> {
    let mut owners = BTreeMap::new();
    for (id, share) in shares {
        let member = members.iter().find(|member| member.member_id == *id).unwrap();
        for (topic, partitions) in share {
            assert!(member.topics.contains(topic), "{id} does not want {topic}");
            for partition in partitions {
                let other = owners.insert((topic.clone(), *partition), id.clone());
                assert_eq!(other, None, "{topic}{partition} is given twice");
            }
        }
    }
    owners
}

fn load(share: &Partitions) -> usize {
    share.values().map(BTreeSet::len).sum()
}

proptest! {
    #![proptest_config(cases(0x5EED_0012, 1_000))]

    #[test]
    fn every_partition_that_a_member_wants_has_one_owner((topics, members) in shared()) {
        for assignor in [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky] {
            let shares = assignor.assign(&topics, &members);
            prop_assert_eq!(shares.len(), members.len(), "each member has a share");
            let owners = owners(&shares, &members);
            for (topic, &width) in &topics {
                let wanted = members.iter().any(|member| member.topics.contains(topic));
                for k in (0..width).map(PartitionId) {
                    prop_assert_eq!(owners.contains_key(&(topic.clone(), k)), wanted);
                }
            }
        }
    }

    /// A partition that its taker would not reach goes to a member that does, if one does; nothing
    /// else moves.
    #[test]
    fn what_a_member_does_not_reach_goes_to_one_that_does((topics, members) in hindered()) {
        let unhindered = members.iter().map(|it| Candidate {
            unreachable: Partitions::new(), ..it.clone()
        });
        let unhindered: Vec<Candidate> = unhindered.collect();
        for assignor in [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky] {
            let shares = assignor.assign(&topics, &members);
            let before = owners(&assignor.assign(&topics, &unhindered), &members);
            let after = owners(&shares, &members);
            prop_assert_eq!(before.len(), after.len());
            let member = |id: &String| members.iter().find(|it| it.member_id == *id).unwrap();
            for ((topic, k), owner) in &after {
                let was = &before[&(topic.clone(), *k)];
                let able = |it: &&Candidate| it.topics.contains(topic) && reaches(it, topic, *k);
                if reaches(member(was), topic, *k) || !members.iter().any(|it| able(&it)) {
                    prop_assert_eq!(owner, was, "{}{} moves", topic, k);
                } else {
                    prop_assert!(reaches(member(owner), topic, *k), "{}", show(&shares));
                }
            }
        }
    }

    /// Nor do they wander from one generation to the next.
    #[test]
    fn hindered_members_rest((topics, members) in hindered()) {
        let first = Assignor::Sticky.assign(&topics, &members);
        let second = Assignor::Sticky.assign(&topics, &again(&members, &first, 9));
        let third = Assignor::Sticky.assign(&topics, &again(&members, &second, 10));
        prop_assert_eq!(show(&third), show(&second));
    }

    /// The loads of two members that subscribe alike differ by one at most, and none moves a
    /// second time.
    #[test]
    fn sticky_is_even_and_rests((topics, members) in shared()) {
        let shares = Assignor::Sticky.assign(&topics, &members);
        for one in &members {
            for other in members.iter().filter(|other| other.topics == one.topics) {
                let (one, other) = (&shares[&one.member_id], &shares[&other.member_id]);
                prop_assert!(load(one).abs_diff(load(other)) <= 1, "{}", show(&shares));
            }
        }
        let next = Assignor::Sticky.assign(&topics, &again(&members, &shares, 9));
        prop_assert_eq!(show(&next), show(&shares));
    }

    /// A cooperative generation gives nothing that another member holds, and after a few of them
    /// the shares are what an eager one would leave alone.
    #[test]
    fn cooperative_takes_some_generations((topics, members) in shared()) {
        let mut joining = members;
        for generation in 9..13 {
            let shares = Assignor::CooperativeSticky.assign(&topics, &joining);
            for ((topic, k), owner) in owners(&shares, &joining) {
                let holds =
                    |it: &&Candidate| it.owned.get(&topic).is_some_and(|ks| ks.contains(&k));
                let mut holders = joining.iter().filter(holds).map(|it| &it.member_id).peekable();
                prop_assert!(holders.peek().is_none() || holders.any(|holder| *holder == owner));
            }
            joining = again(&joining, &shares, generation);
        }
        let last = Assignor::CooperativeSticky.assign(&topics, &joining);
        prop_assert_eq!(show(&last), show(&Assignor::Sticky.assign(&topics, &joining)));
    }
}
