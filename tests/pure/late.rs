//! Facts that come late to the live fold: which of them are missed, and how one that reads the past
//! waits for those that are out of order.

use std::time::Duration;

use support::facts::{Story, at, name, plan};
use support::watched::{Found, found, judged};
use tandem::live::{Event, Live};
use tandem::observation::Fact;
use tandem::time::Mono;

use super::external::{idles, outside};

/// Lets time pass from one instant to the other. Returns the facts that were late.
fn pass(live: &mut Live, span: [u64; 2]) -> u64 {
    (span[0]..=span[1]).step_by(50).for_each(|ms| live.handle_timeout(at(ms)));
    late(&mut std::iter::from_fn(|| live.poll_event()))
}

fn late(events: &mut dyn Iterator<Item = Event>) -> u64 {
    let late = events.filter_map(|event| match event {
        Event::Late { facts, .. } => Some(facts),
        _ => None,
    });
    late.sum()
}

fn take<'a>(live: &mut Live, facts: impl IntoIterator<Item = &'a Fact>) {
    facts.into_iter().for_each(|fact| live.observe(fact));
}

/// The only group has no members in the roster: others start them.
fn fold() -> Live {
    Live::new(&plan(1, &[("p1", 1, 0)]))
}

#[test]
fn while_nothing_of_a_group_was_counted_none_of_its_facts_is_missed() {
    let mut live = fold();
    // The witness of the first member needs three seconds to connect.
    pass(&mut live, [0, 3_000]);
    let mut story = Story::default();
    story.of("p1-a.1", 90, outside(true)).serves("p1-a.1", 0, 1, [100, 6_000]);
    let (before, after) = story.facts.iter().partition::<Vec<_>, _>(|fact| fact.t <= at(3_000));
    take(&mut live, before);
    assert_eq!(pass(&mut live, [3_050, 3_100]), 0);
    take(&mut live, after);
    assert_eq!(pass(&mut live, [3_150, 6_000]), 0);
}

#[test]
fn of_a_group_that_is_counted_only_what_says_who_led_is_missed() {
    let mut live = fold();
    let mut story = Story::default();
    story.of("p1-a.1", 90, outside(true)).serves("p1-a.1", 0, 1, [100, 10_000]);
    let (before, after) = story.facts.iter().partition::<Vec<_>, _>(|fact| fact.t <= at(6_000));
    take(&mut live, before);
    assert_eq!(pass(&mut live, [0, 6_000]), 0);
    // Another one has started, and its first facts take three seconds.
    let mut second = Story::default();
    second.of("p1-b.1", 3_000, outside(true)).assigned("p1-b.1", 3_100, &[0]);
    idles(&mut second, "p1-b.1", [3_100, 10_000]);
    take(&mut live, &second.facts);
    take(&mut live, after);
    assert_eq!(pass(&mut live, [6_050, 8_000]), 0, "this says nothing of who led");
    let mut third = Story::default();
    third.of("p1-c.1", 4_000, outside(true)).claimed("p1-c.1", 0, 7, [4_100, 4_500]);
    idles(&mut third, "p1-c.1", [4_500, 10_000]);
    take(&mut live, &third.facts);
    assert_eq!(pass(&mut live, [8_050, 10_000]), 1, "its claim is not counted any more");
}

#[test]
fn no_life_is_forgotten_before_its_time_was_counted() {
    let (mut live, mut story) = (fold(), Story::default());
    for life in 1..=8_u64 {
        let (who, from) = (format!("p1-a.{life}"), life * 1_000);
        story.of(&who, from, outside(true)).serves(&who, 0, 1, [from, from + 900]);
        story.died(&who, from + 900);
    }
    take(&mut live, &story.facts);
    pass(&mut live, [0, 9_000]);
    let totals = live.totals(Some(&name("p1")), tandem::ids::RoleIndex(0));
    assert_eq!(totals.since, Some(at(1_000)), "since its first life");
}

#[test]
fn one_that_reads_the_past_waits_for_facts_that_are_out_of_order() {
    const BEHIND: Duration = Duration::from_secs(60);
    let plan = plan(1, &[("p1", 1, 0)]);
    let mut story = Story::default();
    story.of("p1-a.1", 90, outside(true)).serves("p1-a.1", 0, 1, [100, 5_000]);
    story.died("p1-a.1", 5_000).of("p1-b.1", 200, outside(true));
    idles(&mut story, "p1-b.1", [200, 5_900]);
    story.serves("p1-b.1", 0, 1, [5_900, 20_000]);
    // First all facts of one member, up to its death, and then all of the other.
    let of = |who: &str| {
        let who = name::<tandem::ids::MemberId>(who);
        let of = move |fact: &&Fact| fact.life.as_ref().is_some_and(|life| life.member == who);
        story.facts.iter().filter(of)
    };
    let (mut live, mut now, mut events) = (Live::new(&plan), Mono::ZERO, Vec::new());
    live.end(at(18_000));
    live.wait(BEHIND);
    for fact in of("p1-a").chain(of("p1-b")) {
        live.observe(fact);
        now = now.max(fact.t);
        if live.poll_timeout().is_some_and(|due| due <= now) {
            live.handle_timeout(now);
        }
        events.extend(std::iter::from_fn(|| live.poll_event()));
    }
    // All that is past was read.
    live.wait(Duration::ZERO);
    (20_000..30_000).step_by(50).for_each(|ms| live.handle_timeout(at(ms)));
    live.finish(at(30_000));
    events.extend(std::iter::from_fn(|| live.poll_event()));
    let key = (Some(name("p1")), 0);
    let found = found(&plan, &live, &events)[&key].clone();
    assert_eq!(late(&mut events.into_iter()), 0);
    let judged = judged(&plan, &story.facts, at(18_000))[&key].clone();
    assert_eq!(found, Found { takeovers: found.takeovers.clone(), ..judged });
    assert_eq!(found.unavailable, Duration::from_millis(900));
}
