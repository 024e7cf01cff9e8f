//! Fences over lives of members on hosts whose clocks are hours apart, while the topic is deleted
//! and created again, and brokers lose all that the group committed.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tandem::ids::PartitionId;
use tandem::neli::membership::{
    ByPartition, GroupEvent, GroupMember, Refusal, Request, RequestId, Response, epoch,
    fences_above,
};
use tandem::time::Mono;

use super::fence_lives::{BOTH, ENOUGH, HOUR_S, Host, K, Known, Live, NOON_S, config, first};

/// Two hosts: the clock of the first one is two hours ahead of the second's.
fn two() -> Known {
    Known::new([Host::ahead(2), Host::ahead(0)])
}

/// A member of the first host leads, one of the second stands by. Then this happens, and the second
/// one leads.
fn after(live: Live, mut known: Known, what: fn(&mut Known)) -> (i64, i64) {
    let before = live(&mut known, 0, true).unwrap();
    assert_eq!(live(&mut known, 1, false), None);
    what(&mut known);
    (before, live(&mut known, 1, true).unwrap())
}

#[test]
fn another_host_goes_on_with_the_fence_of_a_deleted_topic() {
    for (name, live) in BOTH {
        let known = Known { learns: false, keeps: false, ..two() };
        let (before, then) = after(live, known, Known::delete_topic);
        let began = first(NOON_S + 2 * HOUR_S);
        assert_eq!((before, then), (began, began + 1), "{name}");
    }
}

#[test]
fn without_the_second_commit_that_fence_falls() {
    for (name, live) in BOTH {
        let known = Known { learns: false, commits_twice: false, ..two() };
        let (before, then) = after(live, known, Known::delete_topic);
        assert!(then < before, "{name}: {then} after {before}");
    }
}

#[test]
fn another_host_begins_a_later_epoch_when_brokers_lose_all() {
    for (name, live) in BOTH {
        let (before, then) = after(live, two(), Known::lose_all);
        let last = NOON_S + 2 * HOUR_S;
        assert_eq!((before, then), (first(last), first(last + 1)), "{name}");
    }
}

#[test]
fn a_host_that_reads_no_fences_of_others_gives_a_lower_one_then() {
    for (name, live) in BOTH {
        let known = Known { learns: false, ..two() };
        let (before, then) = after(live, known, Known::lose_all);
        assert!(then < before, "{name}: {then} after {before}");
    }
}

/// What a host keeps is for this.
#[test]
fn without_a_disk_the_fence_of_a_host_falls_when_its_clock_is_set_back() {
    for (name, live) in BOTH {
        let falls = [false, true].map(|keeps| {
            let mut known = Known { keeps, ..two() };
            let before = live(&mut known, 0, true).unwrap();
            known.lose_all();
            known.hosts[0].ahead_s = 0;
            live(&mut known, 0, true).unwrap() < before
        });
        assert_eq!(falls, [true, false], "{name}");
    }
}

/// The case that remains on trust: brokers lose all, and a host leads next that knew nothing of the
/// group. It has its clock alone.
#[test]
fn a_new_host_has_its_clock_alone_when_brokers_lose_all() {
    for (name, live) in BOTH {
        let mut known = Known::new([Host::ahead(0), Host::ahead(-1), Host::ahead(1)]);
        let before = live(&mut known, 0, true).unwrap();
        known.lose_all();
        let behind = live(&mut known.clone(), 1, true).unwrap();
        let ahead = live(&mut known, 2, true).unwrap();
        assert!(behind < before && before < ahead, "{name}: {behind}, {before}, {ahead}");
    }
}

/// The fences of one random history.
fn history(seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut known = Known::new((0..4).map(|_| Host::default()));
    let mut last = 0;
    // The hosts that had members when the last fence was given.
    let mut present: Vec<usize> = (0..4).collect();
    for number in 0..20 {
        for host in &mut known.hosts {
            host.ahead_s = rng.random_range(-9 * HOUR_S..9 * HOUR_S);
        }
        let lost = number > 0 && rng.random_range(0..4) == 0;
        match (lost, rng.random_range(0..3)) {
            (true, _) => known.lose_all(),
            (false, 0) => known.delete_topic(),
            (false, _) => {}
        }
        // One that had none may be new, with an empty disk.
        for host in (0..4).filter(|host| !present.contains(host)) {
            if rng.random_range(0..2) == 0 {
                known.hosts[host].kept = 0;
            }
        }
        let leader = match lost {
            true => present[rng.random_range(0..present.len())],
            false => rng.random_range(0..4),
        };
        let (name, live) = BOTH[rng.random_range(0..2)];
        let fence = live(&mut known, leader, true).unwrap();
        assert!(fence > last, "seed {seed}, life {number} ({name}): {fence} after {last}");
        let rose = epoch(fence) > epoch(last);
        assert_eq!(rose, lost || number == 0, "seed {seed}, life {number} ({name}): {fence}");
        last = fence;
        present = (0..4).filter(|it| *it == leader || rng.random_range(0..2) == 0).collect();
        for host in present.iter().filter(|host| **host != leader) {
            let (_, live) = BOTH[rng.random_range(0..2)];
            assert_eq!(live(&mut known, *host, false), None);
        }
    }
}

#[test]
fn fences_grow_over_deleted_topics_lost_brokers_and_clocks_that_are_hours_apart() {
    (0..500).for_each(history);
}

#[test]
fn a_used_up_count_goes_over_into_the_next_epoch_and_the_last_fence_has_no_next() {
    for (name, live) in BOTH {
        let mut known = Known { keeps: false, ..two() };
        known.of_topic.insert(K, first(8) - 1);
        assert_eq!(live(&mut known, 0, true), Some(first(8)), "{name}");
        // A clock of any year begins an epoch that is exact as a number of JavaScript.
        known.lose_all();
        known.hosts[0].ahead_s = i64::MAX / 2_000;
        let fence = live(&mut known, 0, true).unwrap();
        assert!(fence < 1 << 53, "{name}: {fence}");
    }
    let mut known = two();
    known.of_topic.insert(K, i64::MAX);
    let mut core = GroupMember::new(Mono::ZERO, config(0, false));
    let failed = (0..ENOUGH).find_map(|_| {
        let outgoing = core.poll_request(Mono::ZERO);
        if let Some(it) = outgoing {
            let answer = known.answer(&it.request, true);
            core.handle_response(Mono::ZERO, it.id, answer);
        }
        std::iter::from_fn(|| core.poll_event()).find_map(|event| match event {
            GroupEvent::Failed(refusal) => Some(refusal),
            GroupEvent::Group(_) | GroupEvent::Left | GroupEvent::GaveWay(_) => None,
        })
    });
    assert_eq!(failed, Some(Refusal::NoHigherFence));
    assert!(failed.unwrap().to_string().contains("delete the offsets of the group"));
}

#[test]
fn fences_are_raised_above_the_highest_one_and_never_lowered() {
    let fences: ByPartition = [(PartitionId(0), 4), (PartitionId(1), 9)].into();
    assert_eq!(fences_above(0, &fences), fences);
    let above: ByPartition = [(PartitionId(0), 7), (PartitionId(1), 9)].into();
    assert_eq!(fences_above(6, &fences), above);
    // One that begins an epoch begins a later one.
    let begin = [(K, first(3))].into();
    assert_eq!(fences_above(first(3) + 5, &begin), [(K, first(4))].into());
    // A host that answers with less than it was asked for changes nothing.
    let mut core = classic_that_waits();
    let (id, wanted) = core.poll_fences().unwrap();
    assert!(core.poll_fences().is_none(), "a member asks once");
    assert!(core.poll_request(Mono::ZERO).is_none_or(|it| !is_commit(&it.request)));
    core.handle_fences(Mono::ZERO, RequestId(id.0 + 1), &wanted);
    assert!(core.poll_request(Mono::ZERO).is_none_or(|it| !is_commit(&it.request)));
    core.handle_fences(Mono::ZERO, id, &[(K, 3)].into());
    while let Some(outgoing) = core.poll_request(Mono::ZERO) {
        if let Request::Commit { offsets, .. } = &outgoing.request {
            assert_eq!(offsets, &[(K, first(8))]);
            return;
        }
        core.handle_response(Mono::ZERO, outgoing.id, Response::Done);
    }
    panic!("no commit");
}

fn is_commit(request: &Request) -> bool {
    matches!(request, Request::Commit { .. })
}

/// A member that waits for its host.
fn classic_that_waits() -> GroupMember {
    let mut known = Known::new([]);
    let mut core = GroupMember::new(Mono::ZERO, config(8, false)).keeping_fences();
    for _ in 0..ENOUGH {
        while core.poll_event().is_some() {}
        let Some(outgoing) = core.poll_request(Mono::ZERO) else { break };
        let answer = known.answer(&outgoing.request, true);
        core.handle_response(Mono::ZERO, outgoing.id, answer);
    }
    assert!(core.awaits_answers() && core.proof().is_none());
    core
}
