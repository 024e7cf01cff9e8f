//! The price feed that is led twice: its subscriber sees no hole while leaders of one group are
//! killed, paused and cut off, and a hole if both groups are hit at once.

use support::feed::{Blow, Feed, HOLE_MAX, Trial};
use support::measured::turn;
use support::quiet::undisturbed;

/// One of each kind.
const TRIALS: usize = 3;

fn shown(trials: &[Trial]) -> String {
    trials.iter().map(|trial| format!("{trial}\n")).collect()
}

#[test]
fn a_feed_that_is_led_twice_has_no_hole_unless_both_groups_are_hit() {
    let play = || {
        let _alone = turn();
        let mut feed = Feed::start();
        let trials: Vec<Trial> = (0..TRIALS).map(|number| feed.hit_one(number)).collect();
        let missed = feed.counts().2;
        let both = feed.hit_both(Blow::Kill);
        (trials, missed, both, feed.counts())
    };
    let is_disturbed = |(trials, ..): &(Vec<Trial>, _, _, _)| {
        3 * trials.iter().filter(|trial| trial.is_disturbed()).count() > trials.len()
    };
    let Some((trials, missed, both, counts)) =
        undisturbed(play, is_disturbed, |(trials, ..)| shown(trials))
    else {
        return;
    };
    let all = shown(&trials);
    for trial in trials.iter().filter(|trial| !trial.is_disturbed()) {
        assert!(trial.hole <= HOLE_MAX, "{trial}, of\n{all}");
    }
    // A trial that the host disturbed does not count, and neither does what it missed.
    let all_count = !trials.iter().any(Trial::is_disturbed);
    assert!(missed == 0 || !all_count, "{missed} prices never arrived while one group led:\n{all}");
    // The test can find a hole: that of a session, and each price in it is missed.
    assert!(both.hole > 5 * HOLE_MAX, "{both}");
    let (prices, duplicates, missed) = counts;
    assert!(missed > 10, "{missed} of {prices} missed: {both}");
    assert!(duplicates > prices / 4, "both groups publish: {duplicates} of {prices} twice");
}
