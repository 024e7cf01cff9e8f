//! Each kind of fault and each kind of election in a real run, judged by what holds on any host.
//! Each fault was asked for, in force and healed. Its victim ended as the fault says, and what it
//! led, another life leads later, by a claim of its own. Where an election promises one leader, no
//! two claims overlap at any time, and fences rise. In the end all is led, and nothing is left.
//!
//! A session is three seconds: a host that does not run a process for two seconds expires none. How
//! long anything takes is measured in `tests/measured`, and bounded in virtual time in
//! `tests/pure`.

mod among;
mod cut_short;
mod elections;
mod hosts;
mod listed;
mod network;
mod processes;
mod series;
mod stores;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use support::exclusive::fences_rise;
use support::experiment::{Experiment, Finished, eventually};
use support::up::nothing_is_left;
use tandem::chaos::Kind;
use tandem::ids::{FaultId, GroupName, Incarnation, Life, PartitionId};
use tandem::journal::{Header, Recording};
use tandem::neli::elections::among::Among;
use tandem::observation::{Fact, MemberEvent, Mode, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{IntervalSet, Timeline};

/// The longest wait for one thing.
const SOON: Duration = Duration::from_secs(60);

/// One trial of these steps, on this topology. It claims nothing, and has many times what it takes
/// until all is led again.
fn experiment(topology: &str, steps: &[&str]) -> Experiment {
    let text = format!(
        "version: 1\nname: faults\nobjective: {{leaders_per_group: 0}}\nrecover: {{within: 100s}}\n\
         method:\n  - {}\n",
        steps.join("\n  - ")
    );
    let order = Experiment::of("faults.yaml", &text);
    let file = order.write("topology.yaml", topology);
    order.with(&format!("-f {}", file.display()))
}

/// No process of a run is there any more, and no ledger.
fn nothing_stays(state: &Path) {
    nothing_is_left(state);
    // Each process of a run is told where the run keeps its state.
    let mark = format!("XDG_STATE_HOME={}", state.display()).into_bytes();
    let has_mark = |folder: &Path| {
        let variables = fs::read(folder.join("environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    eventually("the end of all processes of the run", SOON, || {
        let mut all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        (!all.any(|folder| has_mark(&folder))).then_some(())
    });
}

/// A fault on one victim, from being asked for to its heal.
#[derive(Debug)]
struct Strike {
    step: String,
    kind: String,
    /// None where the victim is a broker, or where there is none.
    life: Option<Life>,
    asked: Mono,
    in_force: Mono,
    healed: Mono,
}

impl Strike {
    fn life(&self) -> &Life {
        self.life.as_ref().unwrap_or_else(|| panic!("{self:?} hits no member"))
    }
}

fn put_in_force(event: &RunEvent) -> Option<&FaultId> {
    match event {
        RunEvent::FaultInForce { fault } => Some(fault),
        _ => None,
    }
}

fn healed(event: &RunEvent) -> Option<&FaultId> {
    match event {
        RunEvent::FaultHealed { fault } => Some(fault),
        _ => None,
    }
}

/// All faults of a run. Each was in force on each of its victims, and healed.
fn strikes(facts: &[Fact]) -> Vec<Strike> {
    let mut strikes = Vec::new();
    for fact in facts {
        let What::Run(RunEvent::FaultAsked { fault, kind, .. }) = &fact.what else { continue };
        let at = |what: &str, says: fn(&RunEvent) -> Option<&FaultId>| {
            let is = |one: &&Fact| match &one.what {
                What::Run(event) => one.life == fact.life && says(event) == Some(fault),
                What::Member(_) => false,
            };
            let found = facts.iter().find(is).map(|one| one.t);
            found.unwrap_or_else(|| panic!("{fault} was never {what} on {:?}", fact.life))
        };
        let (in_force, healed) = (at("in force", put_in_force), at("healed", healed));
        assert!(fact.t <= in_force && in_force <= healed, "{fault}: {in_force:?}, {healed:?}");
        strikes.push(Strike {
            step: fault.step.to_string(),
            kind: kind.clone(),
            life: fact.life.clone(),
            asked: fact.t,
            in_force,
            healed,
        });
    }
    strikes
}

/// A run that has ended, and what its journal says.
struct Story {
    run: Finished,
    header: Header,
    facts: Vec<Fact>,
    timeline: Timeline,
    strikes: Vec<Strike>,
}

impl Story {
    /// Plays an experiment to its end, and judges what holds of each.
    fn of(experiment: Experiment) -> Self {
        let run = experiment.finish();
        assert_eq!(run.sound().trials, 1, "{run}");
        let story = Self::read(run);
        let recovered = |fact: &&Fact| {
            matches!(fact.what, What::Run(RunEvent::TrialEnded { recovered: Some(true), .. }))
        };
        let count = story.facts.iter().filter(recovered).count();
        assert_eq!(count, 1, "all is led in the end\n{}", story.run);
        story
    }

    /// What holds of a run that has ended in any manner.
    fn read(run: Finished) -> Self {
        nothing_stays(&run.folder.path().join("state"));
        let Recording { header, facts, .. } = run.recording();
        let (timeline, strikes) = (Timeline::compute(&header.plan, &facts), strikes(&facts));
        let story = Self { run, header, facts, timeline, strikes };
        story.is_led_as_promised();
        story
    }

    /// No two lives claim a partition of a group whose election promises one leader, at any time of
    /// the run, and its fences rise where it has them. The claims of each life are numbered.
    fn is_led_as_promised(&self) {
        for (name, group) in &self.timeline.groups {
            let mode = self.header.plan.groups[name].pace.mode;
            if mode.is_exclusive() {
                fences_rise(&self.of_group(name))
                    .unwrap_or_else(|why| panic!("{why}\n{}", self.run));
            }
            let lanes = group.lanes.iter().filter(|_| mode.forbids_overlap());
            for (partition, lane) in lanes {
                let mut claimed = IntervalSet::default();
                for (life, view) in &lane.claimed {
                    let both = claimed.intersect(&view.sure);
                    assert!(both.is_empty(), "{life} and another on {name}/{partition}: {both:?}");
                    claimed = claimed.union(&view.sure);
                }
            }
        }
        let mut terms = BTreeMap::new();
        for fact in &self.facts {
            let What::Member(MemberEvent::Claimed { partition, term, .. }) = fact.what else {
                continue;
            };
            let before = terms.insert((fact.life.clone(), partition), term);
            assert!(before < Some(term), "{before:?} before {fact:?}\n{}", self.run);
        }
    }

    fn group_of(&self, life: &Life) -> &GroupName {
        self.header.plan.group_of(&life.member).unwrap_or_else(|| panic!("{life} is of no group"))
    }

    fn of_group(&self, name: &GroupName) -> Vec<Fact> {
        let of = |fact: &&Fact| fact.life.as_ref().is_some_and(|life| self.group_of(life) == name);
        self.facts.iter().filter(of).cloned().collect()
    }

    /// What a step did, victim by victim.
    fn all(&self, step: &str) -> Vec<&Strike> {
        let all: Vec<_> = self.strikes.iter().filter(|strike| strike.step == step).collect();
        assert!(!all.is_empty(), "{step} was never injected\n{}", self.run);
        all
    }

    /// What a step did to its only victim.
    fn only(&self, step: &str) -> &Strike {
        let all = self.all(step);
        assert_eq!(all.len(), 1, "{all:?}\n{}", self.run);
        all[0]
    }

    /// The same, where that is a member that led something.
    fn leader(&self, step: &str) -> &Strike {
        let strike = self.only(step);
        let led = self.claims(strike.life(), strike.asked);
        assert!(!led.is_empty(), "{strike:?} hit no leader\n{}", self.run);
        strike
    }

    /// The partitions that a life certainly claims at an instant.
    fn claims(&self, life: &Life, at: Mono) -> BTreeSet<PartitionId> {
        let lanes = &self.timeline.groups[self.group_of(life)].lanes;
        let claims = lanes.iter().filter(|(_, lane)| {
            lane.claimed.iter().any(|(who, view)| who == life && view.sure.contains(at))
        });
        claims.map(|(partition, _)| *partition).collect()
    }

    /// No life of a group claims anything at an instant.
    fn is_unled(&self, group: &str, at: Mono) {
        let name: GroupName = group.parse().unwrap();
        for (partition, lane) in &*self.timeline.groups[&name].lanes {
            let leads = lane.claimed.iter().find(|(_, view)| view.sure.contains(at));
            let leads = leads.map(|(life, _)| life);
            assert_eq!(leads, None, "of {group}/{partition} at {at:?}\n{}", self.run);
        }
    }

    /// When another life claims a partition of the group of a victim first, after an instant.
    fn next_claim(&self, victim: &Life, of: PartitionId, after: Mono) -> Option<Mono> {
        let lane = &self.timeline.groups[self.group_of(victim)].lanes[&of];
        let others = lane.claimed.iter().filter(|(life, _)| life != victim);
        let claims = others.flat_map(|(_, view)| view.sure.iter());
        claims.filter(|claim| after < claim.until).map(|claim| claim.from.max(after)).min()
    }

    /// What the victim led when it was hit, other lives lead after an instant.
    fn is_replaced(&self, strike: &Strike, after: Mono) {
        for partition in self.claims(strike.life(), strike.asked) {
            let next = self.next_claim(strike.life(), partition, after);
            assert!(next.is_some(), "{strike:?}: {partition} is led by no other\n{}", self.run);
        }
    }

    /// When a life first did this, or something was done to it.
    fn when(&self, life: &Life, is: impl Fn(&What) -> bool) -> Option<Mono> {
        let of = |fact: &&Fact| fact.life.as_ref() == Some(life) && is(&fact.what);
        self.facts.iter().find(of).map(|fact| fact.t)
    }

    /// The victim ended as its fault says, another life leads what it led, and it runs again.
    fn has_ended(&self, strike: &Strike) {
        let life = strike.life();
        let end = match strike.kind.as_str() {
            "kill" | "host" => RunEvent::Died { signal: Some(9), status: None },
            "leave" | "stop" => RunEvent::Died { signal: None, status: Some(0) },
            other => panic!("a {other} ends no life"),
        };
        let died = self.when(life, |what| *what == What::Run(end.clone()));
        let died = died.filter(|at| *at <= strike.healed);
        let died = died.unwrap_or_else(|| panic!("{strike:?}: not {end:?}\n{}", self.run));
        let left = self.when(life, |what| *what == What::Member(MemberEvent::Leaving));
        assert_eq!(left.is_some(), strike.kind == "leave", "{strike:?}\n{}", self.run);
        let next = Incarnation(life.incarnation.0 + 1);
        let next = Life { member: life.member.clone(), incarnation: next };
        let again = self.when(&next, |what| matches!(what, What::Run(RunEvent::Started { .. })));
        assert!(again.is_some_and(|at| died <= at), "{next} never ran\n{}", self.run);
        self.is_replaced(strike, died);
    }

    /// The kernel stopped the victim, and continued it.
    fn stood_still(&self, strike: &Strike) {
        let when = |event: &RunEvent| {
            self.when(strike.life(), |what| matches!(what, What::Run(it) if it == event))
        };
        let (stopped, goes_on) = (when(&RunEvent::Stopped), when(&RunEvent::Continued));
        let both = stopped.zip(goes_on).is_some_and(|(stopped, goes_on)| stopped <= goes_on);
        assert!(both, "{strike:?}: stopped {stopped:?}, went on {goes_on:?}\n{}", self.run);
    }

    /// The brokers of a cluster, in the order of their starts: since when, where, which process.
    fn brokers(&self, of: &str) -> Vec<(Mono, String, u32)> {
        let broker = |fact: &Fact| match &fact.what {
            What::Run(RunEvent::ClusterStarted { cluster, address, pid }) => {
                (cluster.as_str() == of).then(|| (fact.t, address.clone(), *pid))
            }
            What::Run(RunEvent::ClusterDied { .. }) => panic!("by accident: {fact:?}"),
            _ => None,
        };
        self.facts.iter().filter_map(broker).collect()
    }
}

/// What stands after a key in these lines.
fn words<'a>(key: &str, lines: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    lines.filter_map(|line| line.split_once(key)?.1.split([',', '}']).next()).collect()
}

#[test]
fn every_kind_of_fault_is_injected() {
    let steps = [&processes::STEPS[..], &network::STEPS, &series::STEPS].concat();
    let injected = words("fault: ", steps.into_iter());
    assert_eq!(injected, BTreeSet::from(Kind::ALL.map(Kind::as_str)));
}

#[test]
fn every_mode_and_every_election_among_members_is_tried() {
    let mut modes = words("mode: ", elections::TOPOLOGY.lines());
    modes.insert(Mode::NonExclusive.as_str());
    assert_eq!(modes, BTreeSet::from(Mode::ALL.map(Mode::as_str)));
    let elections = words("election: ", among::TOPOLOGY.lines());
    let known: BTreeSet<_> = Among::ALL.iter().map(|election| election.as_str()).collect();
    assert_eq!(elections, known);
}
