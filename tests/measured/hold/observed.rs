//! Observers of members that Tandem did not start: what they count while it goes on, and what comes
//! too late for that.

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::SOON;
use support::measured::shared_turn;
use support::observed::{Stage, counts, ends_alike, leader, nothing_waits, settles, three};
use tandem::live::PATIENCE;
use tandem::live_view::Level;
use tandem::time::Mono;

#[test]
fn observers_measure_alike_what_members_report_and_matter_to_none_of_them() {
    let _turn = shared_turn();
    let stage = Stage::new();
    let first = stage.observe();
    let mut holds = three(&stage);
    settles(&first, holds.len());
    let leads = eventually("a leader", SOON, || leader(&first.status().1?, "p1"));
    let victim = holds.remove(leads.as_str()).unwrap();
    let asked = Mono::now();
    signal_pid(victim.0.id(), Signal::KILL);
    let other = *holds.keys().next().unwrap();
    let picture = eventually("a successor", SOON, || {
        let picture = first.status().1?;
        let counted = picture.groups.values().next()?.counts.gaps > 0;
        (counted && leader(&picture, "p1").as_deref() == Some(other)).then_some(picture)
    });
    assert!(!picture.groups.is_empty() && picture.run.pid == first.pid());
    // Its journal is written by a thread of its own, in the order in which facts came.
    let seen = Mono::now();
    eventually("all that it has seen in its journal", SOON, || {
        first.recording().facts.iter().any(|fact| fact.t > seen).then_some(())
    });

    // An observer may die: the members go on, and those that start later know what it knew.
    first.signal(Signal::KILL);
    let [mut second, mut third] = [stage.observe(), stage.observe()];
    let mut last = None;
    eventually("the same totals", SOON, || {
        let pictures = [second.status().1?, third.status().1?];
        let found = pictures.map(|it| (it.health, counts(&it)));
        if last.as_ref() != Some(&found) {
            println!("{found:?}");
            last = Some(found.clone());
        }
        let led = found.iter().all(|(health, _)| *health == Level::Led);
        let [(_, one), (_, two)] = found;
        (led && one == two && one["p1"].gaps > 0).then_some(())
    });
    ends_alike(&first, [&mut second, &mut third], &mut holds, (&leads, asked));
    drop(victim);
    nothing_waits(&stage, "p1", &leads[3..]);
}

/// Stops the witness of a member of `p1` for so long, so that its facts are late by that.
fn delays(stage: &Stage, name: &str, secs: u64) {
    let witness = stage.witness(name);
    witness.signal(&[Signal::STOP]).unwrap();
    passes(secs);
    witness.signal(&[Signal::CONT]).unwrap();
}

fn passes(secs: u64) {
    let began = Mono::now();
    eventually("time", SOON, || (Mono::now().since(began).as_secs() >= secs).then_some(()));
}

#[test]
fn an_observer_misses_none_of_the_first_facts_and_none_of_a_past_that_is_out_of_order() {
    let _turn = shared_turn();
    let stage = Stage::new();
    let early = stage.observe();
    let _first = [stage.hold("p1", "a"), stage.hold("p2", "c")];
    // Its first letter has all that it did since its start.
    delays(&stage, "a", 3);
    early.await_health(Level::Led);
    let _second = stage.hold("p1", "b");
    settles(&early, 3);
    assert_eq!(early.status().1.unwrap().missed, 0);
    // Longer than one that is silent is waited for.
    delays(&stage, "b", 9);
    eventually("facts that came too late", SOON, || (early.status().1?.missed > 0).then_some(()));
    let late = stage.observe();
    late.await_health(Level::Led);
    // From then on it counts what has passed since.
    let counted = || late.recording().facts.iter().map(|fact| fact.t).max();
    let until = Mono::now();
    eventually("later facts", SOON, || (counted()? > until + PATIENCE).then_some(()));
    let picture = late.status().1.unwrap();
    assert_eq!((picture.missed, counts(&picture)["p1"].gaps), (0, 0), "{}", late.said());
}
