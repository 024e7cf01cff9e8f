//! The links between members are cut, their brokers are, or both: within the plan's bounds, and no
//! member flaps. The session is ten seconds; nobody dies.
//!
//! Each run is alone: a silence of 50 ms is a suspicion, and the links go through threads of the
//! test, which the rule on disturbed trials does not watch.

use std::thread::sleep;
use std::time::Duration;

use support::experiment::{Experiment, Finished, Running};
use support::links::{Cut, LinksRelay};
use support::measured::{measured_alone_together, require};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::roster::Bound;

const ON: &str = "-f topologies/stand-in.yaml";
const ALL: [usize; 3] = [0, 1, 2];
/// The links that lead to the last member are all that it has.
const LAST: [usize; 1] = [2];
const CUTS: usize = 3;
/// How long links are cut: nothing of it is a wait for a condition.
const LASTS: Duration = Duration::from_millis(800);

fn experiment(step: &str) -> String {
    format!(
        "version: 1\nname: links\ntrials: 1\ndisturbed: {{stall: 25ms}}\n\
         method:\n  - {{id: f, at: 300ms, {step}}}\n\
         objective: {{leaders_per_group: 0}}\n"
    )
}

fn start(relay: &LinksRelay, step: &str, more: &str) -> Running {
    let set = format!("{ON} {} {more}", relay.settings("p1"));
    let running = Experiment::of("links.yaml", &experiment(step)).with(&set).start();
    relay.await_links(3);
    running.await_facts("every role led, and the step", |facts| {
        let in_force = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. }));
        facts.iter().any(in_force).then_some(())
    });
    running
}

/// Links are silent for a while, and speak for a while, again and again.
fn hold(relay: &LinksRelay, links: &[usize]) {
    for _ in 0..CUTS {
        relay.cut(links, Cut::Held);
        sleep(LASTS);
        relay.cut(links, Cut::None);
        sleep(LASTS);
    }
}

/// The longest overlap, the number of overlaps and of gaps.
fn found(run: &Finished) -> (Duration, usize, usize) {
    let timeline = run.timeline();
    let groups = || timeline.groups.values().map(|group| &group.findings);
    let overlaps = || groups().flat_map(|it| &it.overlaps);
    let longest = overlaps().map(|it| it.span.length()).max().unwrap_or_default();
    (longest, overlaps().count(), groups().map(|it| it.gaps.len()).sum())
}

fn bounds(run: &Finished) -> (Bound, Bound) {
    let bounds = &run.recording().header.plan.groups["p1"].bounds;
    (bounds.link.unwrap(), bounds.links_and_brokers.unwrap())
}

/// How many claims began in the trial after members had led all: those of stand-ins, and others.
/// When the run ends, its members leave one after the other, and may claim what is left.
fn claims(facts: &[Fact]) -> (usize, usize) {
    let began =
        facts.iter().position(|fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. })));
    let of = |fact: &&Fact| match &fact.what {
        What::Member(MemberEvent::Claimed { stands_in_for, .. }) => Some(stands_in_for.is_some()),
        _ => None,
    };
    let ended = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialEnded { .. }));
    let trial = facts[began.unwrap()..].iter().take_while(|fact| !ended(fact));
    let all: Vec<bool> = trial.filter_map(|it| of(&it)).collect();
    let ours = all.iter().filter(|it| **it).count();
    (ours, all.len() - ours)
}

/// What one run is judged by.
struct Seen {
    longest: Duration,
    overlaps: usize,
    gaps: usize,
    stand_ins: usize,
    others: usize,
}

impl Seen {
    fn of(run: &Finished) -> Self {
        let (longest, overlaps, gaps) = found(run);
        let (stand_ins, others) = claims(&run.recording().facts);
        Self { longest, overlaps, gaps, stand_ins, others }
    }

    /// No claim but of stand-ins, of those so many at most, no gap, and no overlap above `most`.
    fn fits(&self, what: &str, stand_ins: usize, most: Duration) -> Result<(), String> {
        let Self { longest, overlaps, gaps, stand_ins: ours, others } = self;
        let told = format!(
            "{what}: {ours} stand-ins, {others} other claims, {overlaps} overlaps up to \
             {longest:?} of {most:?}, {gaps} gaps"
        );
        println!("{told}");
        let still = *others == 0 && *gaps == 0;
        require(still && *ours <= stand_ins && *longest <= most, || told)
    }
}

#[test]
fn links_that_end_between_the_living_overlap_until_the_ledger_answers() {
    let play = || {
        let relay = LinksRelay::new(3, Duration::ZERO);
        let running = start(&relay, "fault: noop, for: 12s", "");
        for _ in 0..CUTS {
            relay.await_links(3);
            relay.cut(&ALL, Cut::Ended);
            sleep(LASTS);
            relay.cut(&ALL, Cut::None);
        }
        relay.await_links(3);
        [running.finish()]
    };
    let _run = measured_alone_together(play, |[run]| {
        let seen = Seen::of(run);
        require(seen.stand_ins > 0, || "the cuts have an effect".to_owned())?;
        // Each of four partitions has two others that may stand in, once a cut.
        let most = bounds(run).0.overlap.high.get();
        seen.fits("links ended three times", CUTS * 4 * 2, most)
    });
}

#[test]
fn all_silent_links_are_ones_own_fault() {
    let play = || {
        let relay = LinksRelay::new(3, Duration::ZERO);
        let running = start(&relay, "fault: noop, for: 6s", "--set defaults.suspect=50ms");
        hold(&relay, &ALL);
        [running.finish()]
    };
    let _run = measured_alone_together(play, |[run]| {
        // Each would suspect both others, eight stand-ins a cut. A member that a busy host kept
        // from its last sign of life for longer than the others may be suspected all the same.
        let most = bounds(run).0.overlap.high.get();
        Seen::of(run).fits("all links held three times", CUTS, most)
    });
}

#[test]
fn a_member_with_silent_links_is_vetoed_by_the_ledger() {
    let play = || {
        let relay = LinksRelay::new(3, Duration::ZERO);
        let running = start(&relay, "fault: noop, for: 6s", "--set defaults.suspect=50ms");
        hold(&relay, &LAST);
        relay.await_links(3);
        [running.finish()]
    };
    let _run = measured_alone_together(play, |[run]| {
        let seen = Seen::of(run);
        require(seen.stand_ins > 0, || "the cuts have an effect".to_owned())?;
        // That member's: two partitions at most, each by two others at most, once a cut.
        let most = bounds(run).0.overlap.high.get();
        seen.fits("one member's links held three times", CUTS * 2 * 2, most)
    });
}

#[test]
fn cut_brokers_are_no_death_while_the_links_stand() {
    let play = || {
        let relay = LinksRelay::new(3, Duration::ZERO);
        let step = "fault: partition, for: 3s, target: {group: p1, mode: all}";
        [start(&relay, step, "--set defaults.suspect=50ms").finish()]
    };
    let _run =
        measured_alone_together(play, |[run]| Seen::of(run).fits("brokers cut", 0, Duration::ZERO));
}

#[test]
fn with_both_cut_each_stands_in_once_until_either_is_back() {
    for more in ["", "--set defaults.suspect=50ms"] {
        let play = || {
            let relay = LinksRelay::new(3, Duration::ZERO);
            let step = "fault: partition, for: 3s, target: {group: p1, mode: all}";
            let running = start(&relay, step, more);
            relay.cut(&ALL, Cut::Ended);
            running.await_facts("the brokers are back", |facts| {
                let healed =
                    |fact: &Fact| matches!(fact.what, What::Run(RunEvent::FaultHealed { .. }));
                facts.iter().any(healed).then_some(())
            });
            relay.cut(&ALL, Cut::None);
            [running.finish()]
        };
        let _run = measured_alone_together(play, |[run]| {
            let seen = Seen::of(run);
            require(seen.stand_ins > 0, || "the cut has an effect".to_owned())?;
            let most = bounds(run).1.overlap.high.get();
            seen.fits("links and brokers cut", 4 * 2, most)
        });
    }
}
