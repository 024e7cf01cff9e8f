//! Bounds of one group, worked by hand: what each fault may cost it.

mod elections;

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::chaos::load_chosen;
use tandem::topology::{
    Address, Assignor, Bound, Bounds, GroupProtocol, MembershipClient, Mode, OnDeath, Pace, Range,
    Recall, Terms, bounds, outage_bound,
};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn span(range: Range) -> (u128, u128) {
    (range.low.get().as_millis(), range.high.get().as_millis())
}

fn both(bound: Bound) -> [(u128, u128); 2] {
    [span(bound.gap), span(bound.overlap)]
}

/// S = 1000, h = 100, wake = 50, so h' = 150; x = 15; B = 150 + 50 + 2 * 5 = 210; F = 30; a = 120.
fn pace(threshold: u64) -> Pace {
    Pace {
        mode: Mode::NonExclusive,
        session: tandem::time::Span::ms(1_000),
        heartbeat: tandem::time::Span::ms(100),
        wake: tandem::time::Span::ms(50),
        beacon: tandem::time::Span::ms(100),
        threshold: tandem::time::Span::ms(threshold),
        hold: tandem::time::Span::ms(0),
        clock_error: tandem::time::Span::ms(0),
        grace: tandem::time::Span::ms(0),
        assignor: Assignor::Roundrobin,
        membership: MembershipClient::Library,
        protocol: tandem::topology::GroupProtocol::Classic,
        assignment: tandem::time::Span::default(),
        beacons: tandem::topology::Beacons::All,
        static_members: false,
        handover: false,
        on_death: OnDeath::default(),
        suspect: None,
        starts_within: tandem::time::Span::default(),
        stops_before: tandem::time::Span::default(),
    }
}

fn terms(threshold: u64) -> Terms {
    Terms::of(&pace(threshold), &Address::Embedded)
}

#[test]
fn the_terms_follow_from_the_pace_and_the_cluster() {
    let terms = terms(3_000);
    assert_eq!(terms.silence(), ms(150));
    assert_eq!(terms.rebalance, ms(210));
    assert_eq!((terms.first, terms.age, terms.lag), (ms(30), ms(120), ms(15)));
    assert_eq!((terms.grace, terms.clock), (Duration::ZERO, Duration::ZERO));
    assert_eq!(terms.seamless_threshold(), ms(1_000 + 15 + 210 + 30 + 120));
}

#[test]
fn a_death_costs_a_session_and_a_rebalance() {
    let bounds = bounds(&terms(3_000), None);
    assert_eq!(both(bounds.kill), [(850, 1_255), (0, 3_000)]);
    assert_eq!(both(bounds.leave), [(0, 240), (0, 3_000)]);
    assert_eq!(both(bounds.restart), [(0, 0), (0, 3_000)]);
}

#[test]
fn isolation_costs_the_time_beyond_the_threshold() {
    assert_eq!(both(bounds(&terms(3_000), None).isolation), [(0, 0), (0, 2_150)]);
    // 1375 would be seamless.
    assert_eq!(both(bounds(&terms(1_200), None).isolation), [(0, 175), (0, 350)]);
}

/// In exclusive mode no bound allows an overlap but that of a broker that forgets its groups.
#[test]
fn exclusive_groups_have_no_overlap() {
    let pace = |hold| Pace {
        mode: Mode::Exclusive,
        threshold: tandem::time::Span::ms(800),
        hold: tandem::time::Span::ms(hold),
        ..pace(3_000)
    };
    // F = 80: two answers of at most 10 ms each, and 60 for the disk; a = max(120, 200 + 50 + 10).
    let of = |hold| bounds(&Terms::of(&pace(hold), &Address::Embedded), Some(ms(500)));
    let Bounds { kill, leave, isolation, pause, restart, .. } = of(0);
    assert_eq!(both(kill), [(850, 1_305), (0, 0)]);
    assert_eq!(both(leave), [(0, 290), (0, 0)]);
    assert_eq!(both(restart), [(0, 290), (0, 0)]);
    assert_eq!(both(isolation), [(0, 1_305 + 260 - 800), (0, 0)]);
    assert_eq!(both(pause), [(500, 580), (0, 0)]);
    // Each rebalance waits for claims that outlive a revocation.
    assert_eq!(both(of(200).leave), [(0, 490), (0, 0)]);
    let terms = Terms::of(&pace(0), &Address::Embedded);
    let overlap = |recall| both(outage_bound(&terms, ms(500), recall))[1];
    assert_eq!(overlap(Recall::Nothing), (0, 800));
    assert_eq!([overlap(Recall::All), overlap(Recall::Reads)], [(0, 0); 2]);
}

/// Under the newer protocol two members act one after the other, each at its next heartbeat.
#[test]
fn brokers_that_share_out_partitions_wait_for_two_heartbeats() {
    let of = |mode, threshold, hold, assignment| {
        let pace = Pace {
            mode,
            hold: tandem::time::Span::ms(hold),
            membership: MembershipClient::Own,
            protocol: GroupProtocol::Consumer,
            assignment: tandem::time::Span::ms(assignment),
            ..pace(threshold)
        };
        Terms::of(&pace, &Address::Embedded)
    };
    let terms = of(Mode::NonExclusive, 3_000, 0, 0);
    // B = 2 * 150 + 4 * 5.
    assert_eq!((terms.rebalance, terms.first, terms.age), (ms(320), ms(30), ms(120)));
    assert_eq!(both(bounds(&terms, None).kill), [(850, 1_365), (0, 3_000)]);
    // A member that hears nothing leaves: B and F.
    let silence = |terms: &Terms| both(bounds(terms, None).silence.unwrap())[0].1;
    assert_eq!(silence(&terms), 320 + 30);
    assert_eq!(of(Mode::NonExclusive, 3_000, 0, 1_000).rebalance, ms(1_320));
    // F = 20 for the fence, 60 for the disk and 30 for the message; a = 800 / 4 + 150 + 3 * 5,
    // and the hold.
    let terms = of(Mode::Exclusive, 800, 0, 0);
    assert_eq!((terms.rebalance, terms.first, terms.age), (ms(320), ms(110), ms(365)));
    assert_eq!(both(bounds(&terms, None).kill), [(850, 1_445), (0, 0)]);
    let terms = of(Mode::Exclusive, 800, 200, 0);
    assert_eq!((terms.rebalance, terms.age), (ms(520), ms(565)));
    // It may be given the partition again, and hears nothing there for T: B twice, and F.
    assert_eq!(silence(&terms), 520 + 800 + 520 + 110);
}

/// Consumers read a message of a replicated topic once its followers have it.
#[test]
fn a_replicated_ledger_delays_first_messages_and_no_others() {
    let bounds = |replication: u16| {
        let sets = [
            format!("defaults.replication={replication}"),
            "defaults.min_insync_replicas=1".into(),
        ];
        let sets = sets.map(|set| set.parse().unwrap());
        let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/topologies/kafka-three.yaml"));
        let (plan, _) = load_chosen(Some(file), &sets).unwrap();
        let bounds = &plan.groups.values().next().unwrap().bounds;
        (both(bounds.silence.unwrap())[0].1, both(bounds.kill)[0].1)
    };
    let (one, three) = (bounds(1), bounds(3));
    assert_eq!(one, (250, 1_265));
    assert_eq!(three, (280, 1_295));
}

/// A member that wakes while its group gives its partitions away interrupts that once.
#[test]
fn a_pause_of_a_session_costs_a_takeover_or_a_rebalance_after_it() {
    let pace = Pace { mode: Mode::Exclusive, ..pace(800) };
    let terms = Terms::of(&pace, &Address::Embedded);
    let longest = |pause| both(bounds(&terms, Some(ms(pause))).pause)[0].1;
    assert_eq!(
        [849, 850, 1_015, 1_100, 1_305, 1_306, 9_000].map(longest),
        [929, 1_305, 1_305, 1_390, 1_595, 1_305, 1_305]
    );
}

/// A controller that leaves for the dead: 10 ms until it knows, four round trips, and a rebalance.
#[test]
fn a_death_that_is_left_for_costs_a_rebalance_at_any_session() {
    for session in [1_000, 10_000] {
        let pace = Pace {
            session: tandem::time::Span::ms(session),
            on_death: OnDeath::Leave,
            ..pace(3 * session)
        };
        let terms = Terms::of(&pace, &Address::Embedded);
        assert_eq!(both(bounds(&terms, None).kill)[0], (0, 10 + 4 * 5 + 240));
        assert_eq!(terms.soonest_restart(), ms(30 + 240));
    }
}

/// Members that are linked: 50 ms, at any session. A silent one is suspected an eighth of the limit
/// early or late, and then stood in for.
#[test]
fn a_death_that_is_stood_in_for_costs_no_rebalance_and_a_suspected_pause_no_session() {
    for session in [1_000, 10_000] {
        let pace = Pace {
            session: tandem::time::Span::ms(session),
            handover: true,
            membership: MembershipClient::Own,
            on_death: OnDeath::StandIn,
            suspect: Some(tandem::time::Span::ms(80)),
            ..pace(3 * session)
        };
        let terms = Terms::of(&pace, &Address::Embedded);
        assert_eq!(both(bounds(&terms, None).kill), [(0, 50), (0, 120)]);
        let pause = |longest| both(bounds(&terms, longest).pause)[0];
        assert_eq!(pause(Some(ms(50))), (50, 50));
        assert_eq!(pause(Some(ms(75))), (70, 75));
        assert_eq!(pause(None), (70, 140));
        // S + x + 2 (B + F): a second rebalance may interrupt the first.
        assert_eq!(terms.stand_in_term(), ms(session + 15 + 2 * 240));
        assert!(terms.stand_in_term() > terms.takeover());
        // The library knows neither plan nor cluster: its own is no shorter.
        let heartbeat = tandem_member::usual::heartbeat(ms(session));
        let own = Pace {
            heartbeat: tandem::time::Span(heartbeat),
            wake: tandem::time::Span(tandem_member::usual::wake(heartbeat)),
            ..pace
        };
        let far = Terms::of(&own, &Address::Bootstrap(String::new())).stand_in_term();
        assert!(tandem_member::usual::stand_in(ms(session), heartbeat) >= far, "{far:?}");
    }
}

/// A link that ends between two that live: a question and its answer, each at the next beacon of
/// 100 ms, 20 ms later; without the brokers a stand-in's term.
#[test]
fn a_broken_link_overlaps_until_the_ledger_answers() {
    let pace = Pace {
        session: tandem::time::Span::ms(10_000),
        handover: true,
        membership: MembershipClient::Own,
        on_death: OnDeath::StandIn,
        ..pace(30_000)
    };
    let terms = Terms::of(&pace, &Address::Embedded);
    let (links, most) = (bounds(&terms, None), 10_000 + 15 + 2 * 240);
    assert_eq!(both(links.link.unwrap()), [(0, 0), (0, 2 * 120)]);
    assert_eq!(both(links.links_and_brokers.unwrap()), [(0, 0), (0, most)]);
    let unlinked = Terms { stand_in: None, ..terms };
    assert_eq!(bounds(&unlinked, None).link, None);
    assert_eq!(bounds(&unlinked, None).links_and_brokers, None);
}

#[test]
fn a_pause_costs_itself_or_a_takeover_plus_the_stale_claims() {
    let pause = |longest| both(bounds(&terms(3_000), longest).pause);
    assert_eq!(pause(Some(ms(200))), [(200, 200), (0, 3_350)]);
    assert_eq!(pause(Some(ms(900))), [(850, 900), (0, 50 + 3_350)]);
    assert_eq!(pause(Some(ms(3_000))), [(850, 1_255), (0, 2_150 + 3_350)]);
    assert_eq!(pause(None), pause(Some(ms(60_000))));
}

#[test]
fn a_dead_broker_costs_failover_search_and_isolation() {
    let terms = Terms { failover: ms(4_000), ..terms(3_000) };
    // A second to find it, a second because it reads: 4000 + 2000 + 1375 - 3000. Members may join
    // these two seconds apart, and what moved is claimed twice for T, B and F.
    assert_eq!(both(bounds(&terms, None).broker), [(0, 4_375), (0, 5_240)]);
}

proptest! {
    #![proptest_config(cases(0x5EED_0027, 256))]

    /// A bound that is too wide proves nothing.
    #[test]
    fn a_gap_is_known_to_within_its_terms(
        session in 100u64..60_000, heartbeat in 1u64..100, wake in 10u64..50,
        threshold in 1u64..200_000, pause in prop::option::of(0u64..100_000),
    ) {
        let terms = Terms {
            session: ms(session),
            heartbeat: ms(heartbeat),
            wake: ms(wake),
            threshold: ms(threshold.max(session + 1)),
            rebalance: ms(heartbeat + 2 * wake + 10),
            ..self::terms(3_000)
        };
        let width = terms.silence() + terms.rebalance + terms.first + terms.lag + ms(100);
        let bounds = bounds(&terms, pause.map(ms));
        for gap in [bounds.kill.gap, bounds.pause.gap] {
            prop_assert!(gap.low <= gap.high);
            prop_assert!(gap.high.get() - gap.low.get() <= width);
        }
        prop_assert!(bounds.isolation.gap.high <= bounds.kill.gap.high.max(bounds.leave.gap.high));
    }
}
