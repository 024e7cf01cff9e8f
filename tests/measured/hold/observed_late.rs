//! An observer that starts late: of the time that the topics still have it finds what another found
//! that was there, to the nanosecond. What members did before that is unknown to it.

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::SOON;
use support::measured::shared_turn;
use support::observed::{Hold, Stage, gaps, leader, settles, takeover};
use support::up::Up;
use tandem::live_view::Level;
use tandem::observation::Fact;
use tandem::time::Mono;
use tandem::timeline::Interval;

/// Longer than the gaps here and what it takes to start an observer.
const RETENTION_MS: &str = "15000";
/// Longer than that: what was before is gone from the topics.
const GONE_SECS: u64 = 20;

/// Kills the leader of `p1`. Returns its name, once another leads.
fn kill(observer: &Up, holds: &mut Vec<(String, Hold)>) -> String {
    let victim = eventually("a leader", SOON, || leader(&observer.status().1?, "p1"));
    let place = holds.iter().position(|(member, _)| *member == victim).unwrap();
    let (_, hold) = holds.remove(place);
    signal_pid(hold.0.id(), Signal::KILL);
    drop(hold);
    eventually("a successor", SOON, || {
        let picture = observer.status().1?;
        let next = leader(&picture, "p1").filter(|next| *next != victim);
        next.filter(|_| picture.health == Level::Led)
    });
    // Its journal is written by a thread of its own, in the order in which facts came.
    let seen = Mono::now();
    eventually("all that it has seen in its journal", SOON, || {
        observer.recording().facts.iter().any(|fact| fact.t > seen).then_some(())
    });
    victim
}

/// The gap of a death, if it was found.
fn gap_of(observer: &Up, died: Mono) -> Option<Interval> {
    gaps(observer, "p1").into_iter().find(|gap| gap.from <= died && gap.until > died)
}

fn of<'a>(facts: &'a [Fact], member: &'a str) -> impl Iterator<Item = &'a Fact> {
    let is_of =
        move |fact: &&Fact| fact.life.as_ref().is_some_and(|life| life.member.as_str() == member);
    facts.iter().filter(is_of)
}

#[test]
fn an_observer_that_starts_late_finds_what_the_topics_still_have_and_nothing_before() {
    let _turn = shared_turn();
    let stage = Stage::new();
    for broker in &stage.brokers {
        broker.create_with("seen-facts", 1, &[("retention.ms", RETENTION_MS)]);
    }
    let mut early = stage.observe();
    let mut holds = Vec::from(
        [("p1", "a"), ("p1", "b"), ("p2", "c")]
            .map(|(group, name)| (format!("{group}-{name}"), stage.hold(group, name))),
    );
    settles(&early, 3);
    let first = kill(&early, &mut holds);
    let before = takeover(&early.recording().facts, &first).0;
    holds.push((first.clone(), stage.hold("p1", &first[3..])));
    eventually("the end of retention", SOON, || {
        (Mono::now().since(before).as_secs() >= GONE_SECS).then_some(())
    });
    let second = kill(&early, &mut holds);
    // The same member may have led both times.
    let since: Vec<_> = early.recording().facts.into_iter().filter(|it| it.t > before).collect();
    let after = takeover(&since, &second).0;
    let mut late = stage.observe();
    late.await_health(Level::Led);
    let seen = Mono::now();
    for observer in [&early, &late] {
        // Longer than the final view waits for members that are silent.
        eventually("later facts", SOON, || {
            let last = observer.recording().facts.iter().map(|fact| fact.t).max()?;
            (last.since(seen).as_secs() >= 6).then_some(())
        });
    }
    let missed = late.status().1.unwrap().missed;
    for observer in [&mut early, &mut late] {
        observer.signal(Signal::TERM);
        assert_eq!(observer.ends().code(), Some(0), "{}", observer.said());
    }
    let found = gap_of(&early, after).expect("the second death left a gap");
    assert_eq!(gap_of(&late, after), Some(found), "to the nanosecond");
    assert!(gap_of(&early, before).is_some(), "the first death left a gap");
    assert_eq!((gap_of(&late, before), missed), (None, 0), "nothing is known of it");
    // It knows that the members were there before, and not what they did.
    let (known, all) = (late.recording().facts, early.recording().facts);
    let living = &holds[0].0;
    let number = |facts: &[Fact]| of(facts, living).find(|it| it.what.is_by_member()).unwrap().seq;
    assert!(number(&all) == 1 && number(&known) > 1, "the topic has everything");
    let oldest = known.iter().filter(|fact| fact.what.is_by_member()).map(|fact| fact.t).min();
    assert!(oldest.unwrap() > before, "the topic has the first death");
}
