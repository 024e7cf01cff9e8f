//! What the death of a member costs that Tandem did not start, as an observer measures it: no less
//! and no more than the plan says.

use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::SOON;
use support::measured::shared_turn;
use support::observed::{Stage, leader, settles, takeover};
use support::stalls::Watch;
use tandem::live_view::Level;
use tandem::observation::{MemberEvent, What};
use tandem::time::Mono;

/// How late the instrument, and a host that is not alone, may see it.
const LATE: Duration = Duration::from_millis(100);

#[test]
fn a_death_costs_what_the_plan_says() {
    let _turn = shared_turn();
    let stage = Stage::new();
    let mut observer = stage.observe();
    let watch = Watch::begin();
    stage.brokers.iter().for_each(|broker| watch.add(broker.pid()));
    let mut holds = Vec::from(
        [("p1", "a"), ("p1", "b"), ("p1", "c"), ("p2", "d")]
            .map(|(group, name)| (format!("{group}-{name}"), stage.hold(group, name))),
    );
    holds.iter().for_each(|(_, hold)| watch.add(hold.0.id()));
    let mut victims = Vec::new();
    for _ in 0..2 {
        settles(&observer, 4);
        let leads = eventually("a leader", SOON, || leader(&observer.status().1?, "p1"));
        let place = holds.iter().position(|(member, _)| *member == leads).unwrap();
        let (member, hold) = holds.remove(place);
        signal_pid(hold.0.id(), Signal::KILL);
        drop(hold);
        eventually("the successor", SOON, || {
            let picture = observer.status().1?;
            let next = leader(&picture, "p1").filter(|next| *next != member);
            next.filter(|_| picture.health == Level::Led)
        });
        victims.push(member);
    }
    observer.signal(Signal::TERM);
    assert_eq!(observer.ends().code(), Some(0), "{}", observer.said());
    let recording = observer.recording();
    let bound = recording.header.plan.groups.values().next().unwrap().bounds.kill.gap;
    for victim in victims {
        let (died, claimed) = takeover(&recording.facts, &victim);
        let gap = claimed.since(died);
        // What the host kept the members from meanwhile, by their own word.
        let late = recording.facts.iter().filter_map(|fact| match &fact.what {
            What::Member(MemberEvent::Late { from, until, .. })
                if *until > died && *from < claimed =>
            {
                Some(until.since((*from).max(died)))
            }
            _ => None,
        });
        // And by the kernel's, which knows of the brokers as well, and of each thread.
        let stalled = watch.longest(died, claimed);
        let most = bound.high.get() + LATE + late.max().unwrap_or_default() + stalled;
        println!("{victim}: {gap:?} without a leader, of {} to {}", bound.low, bound.high);
        let within = gap + LATE >= bound.low.get() && gap <= most;
        assert!(within && died > Mono::ZERO, "{victim}: {gap:?} is not within {bound:?}, {most:?}");
    }
}
