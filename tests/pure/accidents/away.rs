//! Brokers that were lost and members that did not reach them are the cause of what follows until
//! the group has settled again, for 15 s at most.

use support::facts::{Story, life, name, plan_apart};
use tandem::observation::{MemberEvent, RunEvent};
use tandem::timeline::{Cause, Timeline};

use super::{files_agree, on_a, p1, spans_and_causes};

/// A member of `p1` that never serves.
const OTHER: &str = "p1-2.1";

/// The other member of `p1` serves between these gaps, in milliseconds.
fn with_gaps(gaps: &[[u64; 2]], happens: impl FnOnce(&mut Story)) -> Story {
    let (mut story, who) = (Story::default(), "p1-1.1");
    story
        .started(who, 10)
        .started(OTHER, 10)
        .started("p2-1.1", 10)
        .began(500, 1)
        .settled("p1", 600);
    happens(&mut story);
    let mut from = 100;
    for (term, [begin, end]) in (1..).zip(gaps) {
        story.serves(who, 0, term, [from, *begin]).lapsed(who, *begin, (0, term), *begin);
        from = *end;
    }
    let last = u32::try_from(gaps.len()).unwrap() + 1;
    story.serves(who, 0, last, [from, 40_000]).serves("p2-1.1", 0, 1, [100, 40_000]);
    story.ended(39_000, 1).completed(39_500);
    story
}

fn causes(story: &Story) -> Vec<Cause> {
    let plan = plan_apart(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    let timeline = Timeline::compute(&plan, &story.facts);
    let found = spans_and_causes(&timeline.groups[&p1()].findings.gaps);
    found.into_iter().map(|(_, _, cause)| cause).collect()
}

const GAPS: [[u64; 2]; 4] = [[3_000, 3_200], [5_000, 5_200], [7_000, 7_200], [21_000, 21_200]];

/// Lost from 2 s to 4 s: a broker, or the other member's connection. Settled at 6 s, if it is.
fn away(broker: bool, settles: bool) -> Story {
    with_gaps(&GAPS, |story| {
        lost(story, broker);
        if settles {
            story.settled("p1", 6_000);
        }
    })
}

fn lost(story: &mut Story, broker: bool) {
    let (cluster, name) = (|| name("a"), || "1 at h:9092".to_owned());
    if broker {
        story.run(2_000, RunEvent::BrokerLost { cluster: cluster(), broker: name() });
        story.run(4_000, RunEvent::BrokerBack { cluster: cluster(), broker: name() });
    } else {
        story.says(OTHER, 2_000, MemberEvent::Unconnected { why: "no route".to_owned() });
        story.says(OTHER, 4_000, MemberEvent::Connected);
    }
}

#[test]
fn what_follows_a_lost_broker_or_connection_has_that_cause_until_the_group_has_settled() {
    for (broker, cause) in [(true, on_a()), (false, Cause::Connection(life(OTHER)))] {
        let settles = away(broker, true);
        let known = [cause.clone(), cause.clone(), Cause::Nothing, Cause::Nothing];
        assert_eq!(causes(&settles), known);
        // Where it never settles again, for 15 s.
        let known = [cause.clone(), cause.clone(), cause.clone(), Cause::Nothing];
        assert_eq!(causes(&away(broker, false)), known);
        files_agree(settles, [2_100, 4_990]);
        files_agree(away(broker, false), [4_100, 6_990]);
    }
}

#[test]
fn a_lost_broker_explains_more_than_a_connection_and_a_death_more_than_both() {
    let both = with_gaps(&GAPS, |story| {
        lost(story, true);
        lost(story, false);
    });
    assert_eq!(causes(&both)[0], on_a());
    let dead = with_gaps(&GAPS, |story| {
        lost(story, false);
        story.died(OTHER, 4_500);
    });
    let lonely = || Cause::Connection(life(OTHER));
    assert_eq!(causes(&dead)[..2], [lonely(), Cause::Death(life(OTHER))]);
    // What a life says of itself after its death is no news.
    let late = with_gaps(&GAPS, |story| {
        story.died(OTHER, 1_000).settled("p1", 1_500);
        lost(story, false);
    });
    assert!(causes(&late).iter().all(|it| *it != lonely()));
}
