//! The bounds of the paper's rule for exclusive leadership: a grace period more than other modes,
//! and no overlap, where all clocks agree and a member that is cut off hears nothing.

use std::time::Duration;

use support::world::Luck;
use tandem::ids::PartitionId;
use tandem::time::Mono;
use tandem::topology::{Mode, Terms, bounds};

use super::{EXACT, Fall, MS, fall, terms};

/// `T` is half a session, `e` 10 ms, and `G = T + e + rtt + poll`.
fn by_paper() -> Terms {
    Terms {
        mode: Mode::ExclusivePaper,
        threshold: 500 * MS,
        clock: 10 * MS,
        grace: 570 * MS,
        ..terms()
    }
}

#[test]
fn a_kill_by_the_papers_rule_takes_exactly_its_bounds() {
    let (worst, best) = (fall(by_paper(), Luck::Worst).gap(), fall(by_paper(), Luck::Best).gap());
    let of = |terms: &Terms| bounds(terms, None).kill.gap;
    let (low, high) = (of(&by_paper()).low.get(), of(&by_paper()).high.get());
    assert!(worst <= high + EXACT && worst + EXACT >= high, "gap {worst:?}, bound {high:?}");
    assert!(best <= low + EXACT && best + EXACT >= low, "gap {best:?}, bound {low:?}");
    let (zero, all) = (Duration::ZERO, by_paper());
    let without = [
        ("S", Terms { session: zero, ..all }),
        ("x", Terms { lag: zero, ..all }),
        ("B", Terms { rebalance: zero, ..all }),
        ("F", Terms { first: zero, ..all }),
        ("G", Terms { grace: zero, ..all }),
    ];
    for (term, terms) in without {
        let high = of(&terms).high.get();
        assert!(worst > high + EXACT, "without {term} the bound is {high:?}");
    }
    for (term, terms) in
        [("h", Terms { heartbeat: zero, ..all }), ("wake", Terms { wake: zero, ..all })]
    {
        assert!(best + EXACT < of(&terms).low.get(), "without {term} {best:?} keeps it");
    }
}

/// When the last claim of the one that fell ended.
fn ended(fall: &Fall) -> Mono {
    let mine = |it: &&(Mono, usize, PartitionId)| it.1 == fall.victim && it.2 == fall.partition;
    fall.world.ended.iter().filter(mine).map(|it| it.0).max().unwrap()
}

#[test]
fn isolation_by_the_papers_rule_costs_a_gap_and_no_overlap() {
    for luck in [Luck::Worst, Luck::Best] {
        let fall = fall(by_paper(), luck);
        let (ended, of) = (ended(&fall), bounds(&by_paper(), None).isolation);
        assert!(ended < fall.succeeded, "{luck:?}: two lead at once");
        assert!(ended <= fall.cut + by_paper().threshold + MS, "{luck:?}: T after the stamp");
        assert!(fall.succeeded.since(ended) <= of.gap.high.get() + EXACT, "{luck:?}");
        assert_eq!(of.overlap.high.get(), Duration::ZERO);
    }
}

/// The conditions are what keeps the overlaps at nothing: with a long threshold and no grace
/// period the successor leads while the first still believes that it does.
#[test]
fn without_its_conditions_the_papers_rule_gives_two_leaders() {
    let broken = Terms { threshold: 1_800 * MS, grace: Duration::ZERO, ..by_paper() };
    let fall = fall(broken, Luck::Best);
    let overlap = ended(&fall).since(fall.succeeded);
    let high = bounds(&broken, None).isolation.overlap.high.get();
    assert!(overlap >= 900 * MS && overlap <= high, "{overlap:?}, bound {high:?}");
}
