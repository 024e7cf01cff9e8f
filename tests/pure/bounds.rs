//! The bounds have teeth: with every delay at its worst, a takeover takes exactly as long as the
//! bound says; with every delay at its best, exactly the lower bound. Take one term away, and the
//! bound is broken.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a test may fail loudly"
)]

mod by_paper;
mod handed_over;
mod owners;
mod silent;

use std::time::Duration;

use support::world::{Luck, World};
use tandem::ids::PartitionId;
use tandem::time::Mono;
use tandem::topology::{Mode, Terms, bounds};

const MS: Duration = Duration::from_millis(1);
/// One step of the clock: "just before".
const STEP: Duration = Duration::from_nanos(1);
/// The round of ordinary beacons, so long that it never helps a new owner.
const ROUND: Duration = Duration::from_secs(60);
/// One that lets no claim lapse.
const SOON: Duration = Duration::from_millis(100);

fn terms() -> Terms {
    Terms {
        mode: Mode::NonExclusive,
        session: 1000 * MS,
        heartbeat: 100 * MS,
        wake: 50 * MS,
        lag: 15 * MS,
        rebalance: 210 * MS,
        first: 30 * MS,
        age: 120 * MS,
        grace: Duration::ZERO,
        clock: Duration::ZERO,
        threshold: 3000 * MS,
        failover: Duration::ZERO,
        search: Duration::ZERO,
        start_up: Duration::ZERO,
        departure: None,
        stays: None,
        stand_in: None,
        suspicion: None,
        statement: None,
        gives_way: Some(1),
        regains: false,
        work: Duration::ZERO,
        stop: Duration::ZERO,
        joins_move: true,
        unproven: false,
        leads_alone: false,
    }
}

/// What became of a leader that was cut off.
struct Fall {
    world: World,
    /// Who it was.
    victim: usize,
    /// When it was cut off.
    cut: Mono,
    /// When a successor began to claim what it had led.
    succeeded: Mono,
    partition: PartitionId,
}

impl Fall {
    /// From the cut to the successor: the gap of a kill.
    fn gap(&self) -> Duration {
        self.succeeded.since(self.cut)
    }
}

/// One of three members is cut off. At worst its last heartbeat arrives late, just after the others
/// have sent theirs; at best it was sent a whole period ago, and the others are about to send.
fn fall(terms: Terms, luck: Luck) -> Fall {
    let (width, round) = match terms.mode {
        Mode::NonExclusive => (3, ROUND),
        // What decides is the proof, so that messages are always newer.
        Mode::Exclusive | Mode::ExclusivePaper => (3, SOON),
        Mode::Fast => (1, terms.age),
    };
    fall_in(World::new(terms, luck, 3, width, round), terms, luck)
}

fn fall_in(mut world: World, terms: Terms, luck: Luck) -> Fall {
    world.run(Mono::ZERO + 1000 * MS);
    let victim = (0..3).find(|&client| !world.holds(client).is_empty()).unwrap();
    let partition = world.holds(victim)[0];
    world.hear(victim, partition);
    // The others' heartbeats come a whole number of periods after they were given their partitions.
    let beat = world.settled + 40 * terms.silence();
    let (cut, last_beat) = match luck {
        // The session ends one step after a beat.
        Luck::Worst => {
            let last = beat + STEP - terms.session;
            (last - terms.lag, last)
        }
        // It ends one step before a beat, and the next of the victim would have come at the cut.
        Luck::Best => {
            let last = beat - STEP - terms.session;
            (last + terms.silence(), last)
        }
    };
    if terms.mode.is_exclusive() {
        // The last proof was as old as it can be, or came with the cut.
        let last = if luck == Luck::Worst { cut - terms.age } else { cut - STEP };
        world.prove(victim, last);
    }
    world.run(cut.min(last_beat));
    world.cut(victim, cut, last_beat);
    world.run(cut + terms.takeover() + 1000 * MS);
    let successor = |(at, who, on): &&(Mono, usize, PartitionId)| {
        *on == partition && *who != victim && *at > cut
    };
    let succeeded = world.acquired.iter().find(successor).expect("a member takes over").0;
    Fall { world, victim, cut, succeeded, partition }
}

/// How far from exact a case may be: the steps by which "just before" was made.
const EXACT: Duration = Duration::from_nanos(5);

#[test]
fn the_worst_kill_takes_exactly_the_upper_bound() {
    let gap = fall(terms(), Luck::Worst).gap();
    let high = bounds(&terms(), None).kill.gap.high.get();
    assert!(gap <= high + EXACT && gap + EXACT >= high, "gap {gap:?}, bound {high:?}");
}

#[test]
fn the_best_kill_takes_exactly_the_lower_bound() {
    let gap = fall(terms(), Luck::Best).gap();
    let low = bounds(&terms(), None).kill.gap.low.get();
    assert!(gap <= low + EXACT && gap + EXACT >= low, "gap {gap:?}, bound {low:?}");
}

#[test]
fn a_bound_without_one_of_its_terms_is_broken() {
    let gap = fall(terms(), Luck::Worst).gap();
    let zero = Duration::ZERO;
    let without = [
        ("S", Terms { session: zero, ..terms() }),
        ("x", Terms { lag: zero, ..terms() }),
        ("B", Terms { rebalance: zero, ..terms() }),
        ("h' in B", Terms { rebalance: terms().rebalance - terms().silence(), ..terms() }),
        ("poll in B", Terms { rebalance: terms().rebalance - terms().wake, ..terms() }),
        ("2 rtt in B", Terms { rebalance: terms().silence() + terms().wake, ..terms() }),
        ("F", Terms { first: zero, ..terms() }),
    ];
    for (term, terms) in without {
        let high = bounds(&terms, None).kill.gap.high.get();
        assert!(gap > high + EXACT, "without {term} the bound is {high:?}, and {gap:?} keeps it");
    }
    let best = fall(terms(), Luck::Best).gap();
    let without =
        [("h", Terms { heartbeat: zero, ..terms() }), ("wake", Terms { wake: zero, ..terms() })];
    for (term, terms) in without {
        let low = bounds(&terms, None).kill.gap.low.get();
        assert!(best + EXACT < low, "without {term} it is at least {low:?}, and {best:?} keeps it");
    }
}

#[test]
fn isolation_leaves_a_gap_or_an_overlap_by_the_threshold() {
    // Worst for the gap: the last message was as old as it can be when the cut came.
    let short = Terms { threshold: 1050 * MS, ..terms() };
    let worst = fall(short, Luck::Worst);
    let claim_ends = worst.cut - short.age + short.threshold;
    let gap = worst.succeeded.since(claim_ends);
    let high = bounds(&short, None).isolation.gap.high.get();
    assert!(gap <= high + EXACT && gap + EXACT >= high, "gap {gap:?}, bound {high:?}");
    for (term, without) in [
        ("a", Terms { age: Duration::ZERO, ..short }),
        ("T", Terms { threshold: short.threshold + MS, ..short }),
    ] {
        let high = bounds(&without, None).isolation.gap.high.get();
        assert!(gap > high + EXACT, "without {term} the bound is {high:?}");
    }

    // Worst for the overlap: a message came with the cut, and the successor is as fast as can be.
    let long = terms();
    let best = fall(long, Luck::Best);
    let claim_ends = best.cut + long.threshold;
    let overlap = claim_ends.since(best.succeeded);
    let high = bounds(&long, None).isolation.overlap.high.get();
    assert!(overlap <= high + EXACT && overlap + EXACT >= high, "{overlap:?}, bound {high:?}");
    let without = Terms { heartbeat: Duration::ZERO, ..long };
    let high = bounds(&without, None).isolation.overlap.high.get();
    assert!(overlap > high + EXACT, "without h the bound is {high:?}");
}

#[test]
fn a_seamless_threshold_leaves_no_gap_under_isolation() {
    let seamless = Terms { threshold: terms().seamless_threshold(), ..terms() };
    let worst = fall(seamless, Luck::Worst);
    let claim_ends = worst.cut - seamless.age + seamless.threshold;
    assert!(worst.succeeded <= claim_ends + EXACT);
    let one_less = claim_ends - MS;
    assert!(worst.succeeded > one_less, "one millisecond less, and there is one");
}

#[test]
fn a_leader_that_lives_keeps_its_claim_while_others_come_and_go() {
    let Fall { world, partition, .. } = fall(terms(), Luck::Worst);
    let leaders = (1..3).filter(|&client| world.leads(client, partition)).count();
    assert_eq!(leaders, 1, "one of the living leads what the dead one led");
}

/// The fast mode: `Q` is half a session, and the owner leads from its assignment on.
fn fast() -> Terms {
    Terms { mode: Mode::Fast, first: Duration::ZERO, threshold: 500 * MS, ..terms() }
}

#[test]
fn a_kill_in_fast_mode_takes_exactly_its_bounds() {
    let bounds = bounds(&fast(), None).kill;
    let (worst, best) = (fall(fast(), Luck::Worst), fall(fast(), Luck::Best));
    let (high, low) = (bounds.gap.high.get(), bounds.gap.low.get());
    assert!(worst.gap() <= high + EXACT && worst.gap() + EXACT >= high, "{:?}", worst.gap());
    assert!(best.gap() <= low + EXACT && best.gap() + EXACT >= low, "{:?}", best.gap());
    let without = [
        ("S", Terms { session: Duration::ZERO, ..fast() }),
        ("x", Terms { lag: Duration::ZERO, ..fast() }),
        ("B", Terms { rebalance: Duration::ZERO, ..fast() }),
    ];
    for (term, terms) in without {
        let high = tandem::topology::bounds(&terms, None).kill.gap.high.get();
        assert!(worst.gap() > high + EXACT, "without {term} the bound is {high:?}");
    }
}

/// It is fenced `Q` after the last of its own messages: long before its successor leads.
#[test]
fn an_isolated_owner_in_fast_mode_is_fenced_before_its_successor_leads() {
    for luck in [Luck::Worst, Luck::Best] {
        let fall = fall(fast(), luck);
        let last = |at: &[(Mono, usize, PartitionId)]| {
            at.iter().filter(|(_, who, _)| *who == fall.victim).map(|(at, ..)| *at).max().unwrap()
        };
        let fenced = last(&fall.world.ended);
        assert!(last(&fall.world.acquired) < fenced, "it leads again");
        let age = fall.cut.since(Mono(fenced.0 - 500_000_000));
        assert!(age <= fast().age && fenced <= fall.cut + fast().threshold, "{luck:?}: {age:?}");
        // As old as its last message was, exactly as long is the gap.
        let bounds = bounds(&Terms { age, ..fast() }, None).isolation;
        let gap = fall.succeeded.since(fenced);
        assert_eq!(bounds.overlap.high.get(), Duration::ZERO);
        if luck == Luck::Worst {
            let high = bounds.gap.high.get();
            assert!(gap <= high + EXACT && gap + EXACT >= high, "{gap:?}, bound {high:?}");
        }
        assert!(fall.succeeded > fenced, "{luck:?}: two lead at once");
    }
}

/// The exclusive mode: a new owner leads once a heartbeat and a commit are answered, one after the
/// other. `a` is the interval of the commits, `T/4`, with what delays them.
fn exclusive() -> Terms {
    Terms { mode: Mode::Exclusive, threshold: 800 * MS, age: 260 * MS, ..terms() }
}

/// Whether a gap is exactly as long as a bound says, and longer than each bound that lacks a term.
fn is_exact(gap: Duration, of: impl Fn(&Terms) -> Duration, without: &[(&str, Terms)]) {
    let high = of(&exclusive());
    assert!(gap <= high + EXACT && gap + EXACT >= high, "gap {gap:?}, bound {high:?}");
    for (term, terms) in without {
        let high = of(terms);
        assert!(gap > high + EXACT, "without {term} the bound is {high:?}, and {gap:?} keeps it");
    }
}

fn without_a_term_of_a_handover() -> Vec<(&'static str, Terms)> {
    let zero = Duration::ZERO;
    let all = exclusive();
    vec![
        ("B", Terms { rebalance: zero, ..all }),
        ("h' in B", Terms { rebalance: all.rebalance - all.silence(), ..all }),
        ("poll in B", Terms { rebalance: all.rebalance - all.wake, ..all }),
        ("2 rtt in B", Terms { rebalance: all.silence() + all.wake, ..all }),
        ("F", Terms { first: zero, ..all }),
    ]
}

#[test]
fn a_kill_in_exclusive_mode_takes_exactly_its_bounds() {
    let worst = fall(exclusive(), Luck::Worst).gap();
    let mut without = without_a_term_of_a_handover();
    without.push(("S", Terms { session: Duration::ZERO, ..exclusive() }));
    without.push(("x", Terms { lag: Duration::ZERO, ..exclusive() }));
    is_exact(worst, |terms| bounds(terms, None).kill.gap.high.get(), &without);
    let best = fall(exclusive(), Luck::Best).gap();
    let low = |terms: &Terms| bounds(terms, None).kill.gap.low.get();
    assert!(best <= low(&exclusive()) + EXACT && best + EXACT >= low(&exclusive()), "{best:?}");
    for terms in [
        Terms { heartbeat: Duration::ZERO, ..exclusive() },
        Terms { wake: Duration::ZERO, ..exclusive() },
    ] {
        assert!(best + EXACT < low(&terms), "{best:?} keeps {:?}", low(&terms));
    }
}

#[test]
fn isolation_in_exclusive_mode_costs_exactly_its_bound_and_never_an_overlap() {
    for luck in [Luck::Worst, Luck::Best] {
        let fall = fall(exclusive(), luck);
        let mine = |it: &&(Mono, usize, PartitionId)| it.1 == fall.victim && it.2 == fall.partition;
        let ended = fall.world.ended.iter().filter(mine).map(|it| it.0).max().unwrap();
        assert!(ended < fall.succeeded, "{luck:?}: two lead at once");
        assert!(ended <= fall.cut + exclusive().threshold, "{luck:?}: T after the proof");
        if luck == Luck::Worst {
            let mut without = without_a_term_of_a_handover();
            without.push(("S", Terms { session: exclusive().session / 2, ..exclusive() }));
            without.push(("x", Terms { lag: Duration::ZERO, ..exclusive() }));
            without.push(("a", Terms { age: Duration::ZERO, ..exclusive() }));
            without.push(("T", Terms { threshold: exclusive().threshold + MS, ..exclusive() }));
            let high = |terms: &Terms| bounds(terms, None).isolation.gap.high.get();
            is_exact(fall.succeeded.since(ended), high, &without);
        }
        assert_eq!(bounds(&exclusive(), None).isolation.overlap.high.get(), Duration::ZERO);
    }
}

/// A member that leaves just after the others have sent their heartbeats.
#[test]
fn a_leave_in_exclusive_mode_costs_exactly_its_bound() {
    let mut world = World::new(exclusive(), Luck::Worst, 3, 3, SOON);
    world.run(Mono::ZERO + 1000 * MS);
    let (victim, partition) = (1, world.holds(1)[0]);
    let left = world.settled + 40 * exclusive().silence() + STEP;
    world.run(left);
    world.leave(victim);
    world.run(left + 2000 * MS);
    let next =
        |it: &&(Mono, usize, PartitionId)| it.2 == partition && it.1 != victim && it.0 > left;
    let gap = world.acquired.iter().find(next).unwrap().0.since(left);
    let high = |terms: &Terms| bounds(terms, None).leave.gap.high.get();
    is_exact(gap, high, &without_a_term_of_a_handover());
}

/// A member that wakes before its session can be over has to prove itself anew.
#[test]
fn a_pause_in_exclusive_mode_costs_itself_and_a_proof() {
    let long = exclusive().soonest() - MS;
    for (luck, first) in [(Luck::Worst, exclusive().first), (Luck::Best, Duration::ZERO)] {
        let mut world = World::new(exclusive(), luck, 3, 3, SOON);
        world.run(Mono::ZERO + 1000 * MS);
        let (victim, partition) = (1, world.holds(1)[0]);
        let paused = world.settled + 40 * exclusive().silence() + STEP;
        world.run(paused);
        world.pause(victim);
        world.run(paused + long);
        world.wake(victim);
        world.run(paused + long + 2000 * MS);
        let again = |it: &&(Mono, usize, PartitionId)| it.2 == partition && it.0 > paused;
        let again = world.acquired.iter().find(again).unwrap();
        assert_eq!((again.1, again.0.since(paused)), (victim, long + first), "{luck:?}");
    }
    let high = |terms: &Terms| bounds(terms, Some(long)).pause.gap.high.get();
    let without = [("F", Terms { first: Duration::ZERO, ..exclusive() })];
    is_exact(long + exclusive().first, high, &without);
}
