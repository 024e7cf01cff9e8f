//! A timeline to traces: one a trial, and one of the run itself.
//!
//! ```text
//!   chaos.trial            the trial's window
//!     fault.window         asked, in force, healed as events
//!     leadership           a term of a member, a role          --follows--> the earlier term
//!     leadership.gap       nobody served    --caused_by--> fault.window
//!     leadership.overlap   two claimed      --caused_by--> fault.window
//! ```
//!
//! A trace is made when it is asked for, so that a long run never stands in memory as spans.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::{Span, span::Event};

use super::finding::{self, Found, Kind};
use super::scene::{Scene, error, number, text, texts, truth};
use super::term::{self, Past, Tenure};
use super::{ids, names};
use crate::ids::{FaultId, TrialNumber};
use crate::journal::Header;
use crate::observation::Outcome;
use crate::time::Mono;
use crate::timeline::{Incident, Interval, Record, Timeline, Trial};
use crate::topology::{Objective, Plan};

/// All traces of a run.
#[derive(Debug)]
pub struct Traces {
    scene: Scene,
    plan: Plan,
    objective: Objective,
    seed: u64,
    run: Interval,
    timeline: Timeline,
    found: BTreeMap<TrialNumber, Vec<Found>>,
    terms: BTreeMap<TrialNumber, Vec<Tenure>>,
    faults: BTreeMap<TrialNumber, Vec<FaultId>>,
}

impl Traces {
    /// Of the run that `header` begins and whose timeline this is; `end` is its last instant.
    #[must_use]
    pub fn of(header: &Header, scene: Scene, timeline: Timeline, end: Mono) -> Self {
        let mut faults: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for id in timeline.record.incidents.keys() {
            faults.entry(id.trial).or_default().push(id.clone());
        }
        Self {
            scene,
            plan: header.plan.clone(),
            objective: header.brief.objective,
            seed: header.seed,
            run: Interval::new(header.zero, end.max(header.zero)),
            found: finding::sorted(&timeline),
            terms: term::sorted(&header.plan, &timeline, &Past::default()),
            timeline,
            faults,
        }
    }

    /// The run as seen from outside.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The traces, one after the other: the run's own, then each trial's.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Span>> + '_ {
        (0..self.count()).map(|place| self.get(place))
    }

    /// How many traces there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.timeline.record.trials.len().saturating_add(1)
    }

    /// One of them; empty where there is none in that place.
    #[must_use]
    pub fn get(&self, place: usize) -> Vec<Span> {
        let Some(place) = place.checked_sub(1) else { return vec![self.own()] };
        let trial = self.timeline.record.trials.get(place);
        trial.map_or_else(Vec::new, |trial| self.trial(trial))
    }

    fn own(&self) -> Span {
        let ended = self.timeline.record.ended.as_ref();
        own(&self.scene, self.seed, self.run, ended)
    }

    fn trial(&self, trial: &Trial) -> Vec<Span> {
        let number = trial.number;
        let faults = self.faults.get(&number).into_iter().flatten();
        let incidents = &self.timeline.record.incidents;
        let faults = faults.filter_map(|id| Some(self.fault(trial, id, incidents.get(id)?)));
        let terms = self.terms.get(&number).into_iter().flatten();
        let terms = terms.map(|tenure| tenure.span(&self.scene, &self.plan, trial));
        let found = self.found.get(&number).into_iter().flatten();
        let found = found.map(|one| one.span(&self.scene, &self.plan, &self.objective));
        let children: Vec<_> = faults.chain(terms).chain(found).collect();
        let mut spans = vec![self.root(trial, &children)];
        spans.extend(children);
        spans
    }

    fn root(&self, trial: &Trial, children: &[Span]) -> Span {
        let mut span = self.scene.root(trial.number, trial.window);
        let found = self.found.get(&trial.number).map_or(&[][..], Vec::as_slice);
        span.attributes = vec![self.scene.numbered(trial.number)];
        span.attributes.extend(counts(found));
        span.attributes.extend(trial.recovered.map(|recovered| truth(names::RECOVERED, recovered)));
        span.links = vec![self.scene.link(ids::OWN, names::RUN, "part_of")];
        span.events = stalls(&self.scene, &self.timeline.record, trial.window);
        if trial.recovered == Some(false) {
            span.status = error("not everything settled again in time".to_owned());
        } else if let Some(worst) = worst(children) {
            span.status = error(worst);
        }
        span
    }

    fn fault(&self, trial: &Trial, id: &FaultId, of: &Incident) -> Span {
        let until = of.healed.unwrap_or(trial.window.until).max(of.asked);
        let during = Interval::new(of.asked, until);
        let mut span = self.scene.span(trial.number, names::FAULT, &ids::fault(id), during);
        span.attributes = vec![
            text(names::FAULT_ID, &id.to_string()),
            text(names::FAULT_KIND, &of.kind),
            texts(names::FAULT_TARGETS, &of.targets),
            self.scene.numbered(trial.number),
            truth(names::HEALED, of.healed.is_some()),
        ];
        let skew = of.skew.map(|skew| number(names::FAULT_SKEW_NS, skew.as_nanos()));
        span.attributes.extend(skew);
        let events = [
            (names::FAULT_ASKED, Some(of.asked)),
            (names::FAULT_IN_FORCE, of.in_force),
            (names::FAULT_HEALED, of.healed),
            (names::FAULT_RECONNECTED, of.reconnected),
        ];
        let events = events.into_iter().filter_map(|(name, at)| Some((name, at?)));
        span.events = events.map(|(name, at)| self.scene.event(name, at, Vec::new())).collect();
        if let Some(why) = &of.failed {
            span.attributes.push(text(names::WHY, why));
            span.status = error(format!("the fault failed: {why}"));
        }
        span
    }
}

/// The run itself, which has a trace of its own; `ended` is how it ended, if it did by itself.
pub(super) fn own(
    scene: &Scene,
    seed: u64,
    run: Interval,
    ended: Option<&(Outcome, Option<String>)>,
) -> Span {
    let mut span = scene.root(ids::OWN, run);
    span.attributes = vec![number(names::SEED, seed)];
    let Some((how, why)) = ended else {
        span.status = error("the run was cut off".to_owned());
        return span;
    };
    span.attributes.push(text(names::OUTCOME, outcome(*how)));
    if *how != Outcome::Completed {
        span.status = error(why.clone().unwrap_or_else(|| outcome(*how).to_owned()));
    }
    span
}

/// How much was found, as attributes of a root.
pub(super) fn counts(found: &[Found]) -> [KeyValue; 3] {
    let count = |kind: Kind, joint: bool| {
        let of = |one: &&Found| one.kind == kind && !one.unknown && one.group.is_none() == joint;
        found.iter().filter(of).count()
    };
    [
        number(names::GAPS, count(Kind::Gap, false)),
        number(names::JOINT_GAPS, count(Kind::Gap, true)),
        number(names::OVERLAPS, count(Kind::Overlap, false)),
    ]
}

/// The stalls of the host in `window`, as events of a root.
pub(super) fn stalls(scene: &Scene, record: &Record, window: Interval) -> Vec<Event> {
    let stalls = record.stalls.iter();
    let stalls = stalls.filter(|stall| !stall.intersect(window).is_empty());
    let event = |stall: &Interval| {
        let length = number(names::DURATION_NS, stall.length().as_nanos());
        scene.event(names::HOST_STALL, stall.from, vec![length])
    };
    stalls.map(event).collect()
}

/// What the first of the spans below a root that has an error says.
pub(super) fn worst(children: &[Span]) -> Option<String> {
    let said = children.iter().filter_map(|child| child.status.as_ref());
    said.map(|status| &status.message).find(|message| !message.is_empty()).cloned()
}

/// How a run ended, as the journal writes it.
pub(super) fn outcome(how: Outcome) -> &'static str {
    match how {
        Outcome::Completed => "completed",
        Outcome::Broken => "broken",
        Outcome::Aborted => "aborted",
        Outcome::Interrupted => "interrupted",
        Outcome::Unhealed => "unhealed",
    }
}
