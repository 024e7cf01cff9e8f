//! What holds in the world of an election, and that what does not hold is found.

use super::{Mistake, Spoken, Story, World, Wrong};

const SEEDS: std::ops::Range<u64> = 0..30;

pub(in super::super) fn holds<E: Spoken>() {
    for seed in SEEDS {
        for story in [Story::Random, Story::Return, Story::Late] {
            let outcome = World::<E>::new(seed, story, Mistake::None).run();
            assert_eq!(outcome, Ok(()), "{story:?}, seed {seed}");
        }
    }
}

fn found<E: Spoken>(story: Story, mistake: Mistake, is_it: impl Fn(&Wrong) -> bool) {
    let wrong = |seed| World::<E>::new(seed, story, mistake).run().err();
    assert!(SEEDS.filter_map(wrong).any(|wrong| is_it(&wrong)), "{mistake:?} is not found");
}

pub(in super::super) fn finds_forgotten_votes<E: Spoken>() {
    let fence = |wrong: &Wrong| matches!(wrong, Wrong::FenceStands(_));
    found::<E>(Story::Random, Mistake::ForgetsVotes, fence);
}

pub(in super::super) fn finds_two_of_one_number<E: Spoken>() {
    let two = |wrong: &Wrong| matches!(wrong, Wrong::TwoOfOneNumber(_));
    found::<E>(Story::Random, Mistake::ForgetsVotes, two);
}

pub(in super::super) fn finds_counting_from_the_answer<E: Spoken>() {
    let two = |wrong: &Wrong| matches!(wrong, Wrong::TwoLead(_));
    found::<E>(Story::Late, Mistake::CountsFromTheAnswer, two);
}

pub(in super::super) fn finds_votes_at_once<E: Spoken>() {
    let two = |wrong: &Wrong| matches!(wrong, Wrong::TwoLead(_));
    found::<E>(Story::Return, Mistake::VotesAtOnce, two);
}

pub(in super::super) fn shows_two_leaders<E: Spoken>() {
    let judged = |seed| {
        let mut world = World::<E>::new(seed, Story::Random, Mistake::None);
        world.exclusive = true;
        world.run().err()
    };
    assert!(SEEDS.filter_map(judged).any(|wrong| matches!(wrong, Wrong::TwoLead(_))));
}

pub(in super::super) fn shows_a_lower_number<E: Spoken>() {
    let judged = |seed| {
        let mut world = World::<E>::new(seed, Story::Random, Mistake::None);
        world.rising = true;
        world.run().err()
    };
    assert!(SEEDS.filter_map(judged).any(|wrong| matches!(wrong, Wrong::LowerNumber(_))));
}

pub(in super::super) fn finds_deafness<E: Spoken>() {
    let two = |wrong: &Wrong| matches!(wrong, Wrong::TwoLead(_));
    found::<E>(Story::Random, Mistake::Deaf, two);
}
