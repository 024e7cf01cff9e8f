//! A leader that the host kept from serving before it died leaves a gap that begins with its last
//! tick, and its death is the cause.

use support::facts::{Story, life, plan};
use tandem::timeline::{Cause, Timeline};

use super::{p1, spans_and_causes};

/// The only gap, where a leader ticks until 4 s and dies then, in milliseconds.
fn gap(died: u64, lapsed: bool) -> (u64, u64, Cause) {
    let mut story = Story::default();
    story.serves("p1-1.1", 0, 1, [100, 4_000]);
    if lapsed {
        story.lapsed("p1-1.1", 4_000, (0, 1), 4_000);
    }
    story.died("p1-1.1", died).serves("p1-2.1", 0, 1, [5_000, 9_400]);
    story.began(500, 1).ended(9_000, 1).completed(9_500);
    let timeline = Timeline::compute(&plan(1, &[("p1", 1, 2)]), &story.facts);
    spans_and_causes(&timeline.groups[&p1()].findings.gaps).remove(0)
}

#[test]
fn a_crash_is_the_cause_of_the_gap_that_began_with_the_last_tick_before_it() {
    let died = || Cause::Death(life("p1-1.1"));
    assert_eq!(gap(4_100, false), (4_100, 5_000, died()), "it served until then");
    assert_eq!(gap(4_101, false), (4_000, 5_000, died()), "it may have stood still");
    assert_eq!(gap(4_101, true), (4_000, 5_000, Cause::Nothing), "it had stopped leading");
}
