//! Members on a simulated ensemble: never do two lead one partition, and once the faults cease each
//! is led. Each planted mistake is found.

use super::ensemble::{Mistake, World, Wrong};

const SEEDS: std::ops::Range<u64> = 0..40;

#[test]
fn two_never_lead_and_all_are_led_in_the_end() {
    for seed in SEEDS {
        assert_eq!(World::new(seed, Mistake::None).run(), Ok(()), "seed {seed}");
    }
}

fn found(mistake: Mistake) -> Vec<Wrong> {
    SEEDS.filter_map(|seed| World::new(seed, mistake).run().err()).collect()
}

fn makes_two_leaders(mistake: Mistake) {
    let two = found(mistake).iter().filter(|it| matches!(it, Wrong::TwoLead(_))).count();
    assert!(two > 0, "{mistake:?} is not found");
}

#[test]
fn the_highest_node_makes_two_leaders() {
    makes_two_leaders(Mistake::HighestLeads);
}

#[test]
fn a_session_counted_from_a_read_makes_two_leaders() {
    makes_two_leaders(Mistake::Reads);
}

#[test]
fn a_watch_of_a_node_that_is_gone_leaves_a_hole() {
    let stuck = found(Mistake::WatchesBlindly);
    assert!(stuck.contains(&Wrong::NoneLeads), "the planted mistake is not found: {stuck:?}");
}
