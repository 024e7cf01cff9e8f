//! Turns a timeline into traces: one per trial, and one of the run itself.
//!
//! ```text
//!   chaos.trial            the trial's window
//!     fault.window         asked, in force, healed as events
//!     leadership           a term of a member, a role          --follows--> the earlier term
//!     leadership.gap       no one served    --caused_by--> fault.window
//!     leadership.overlap   two claimed      --caused_by--> fault.window
//! ```
//!
//! Spans are built on demand, so that a long run is never held in memory as spans.

use std::collections::BTreeMap;
use std::iter::{once, once_with};

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::{Span, Status, span::Event};

use super::finding::{self, Found, Kind};
use super::run_context::{RunContext, error, known, number, text, texts, truth};
use super::term::{self, Past, Tenure};
use super::{ids, names};
use crate::ids::{FaultId, TrialNumber};
use crate::journal::Header;
use crate::observation::Outcome;
use crate::time::Mono;
use crate::timeline::{Incident, Interval, RunRecord, Timeline, Trial};
use crate::topology::{Objective, Plan};

/// All traces of a run.
#[derive(Debug)]
pub struct Traces {
    context: RunContext,
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
    /// The traces of the run with this header and timeline; `end` is its last instant.
    #[must_use]
    pub fn of(header: &Header, context: RunContext, timeline: Timeline, end: Mono) -> Self {
        let mut faults: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for id in timeline.record.incidents.keys() {
            faults.entry(id.trial).or_default().push(id.clone());
        }
        Self {
            context,
            plan: header.plan.clone(),
            objective: header.brief.objective,
            seed: header.seed,
            run: Interval::new(header.zero, end.max(header.zero)),
            found: finding::sorted(&header.plan, &timeline),
            terms: term::sorted(&header.plan, &timeline, &Past::default()),
            timeline,
            faults,
        }
    }

    /// The run's context.
    #[must_use]
    pub fn context(&self) -> &RunContext {
        &self.context
    }

    /// The traces in order: the run's own, then each trial's.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = Span>> {
        (0..=self.timeline.record.trials.len()).map(|place| self.get(place))
    }

    /// The trace at `place`; empty if there is none.
    pub fn get(&self, place: usize) -> impl Iterator<Item = Span> {
        let own = (place == 0).then(|| self.own());
        let trial = place.checked_sub(1).and_then(|place| self.timeline.record.trials.get(place));
        own.into_iter().chain(trial.into_iter().flat_map(|trial| self.trial(trial)))
    }

    /// The number of spans of each trace, without building them.
    pub fn sizes(&self) -> impl Iterator<Item = usize> {
        let size = |trial: &Trial| {
            let (faults, terms) = (self.faults(trial).count(), self.terms(trial).len());
            [1, faults, terms, self.found(trial).len()].iter().sum()
        };
        once(1).chain(self.timeline.record.trials.iter().map(size))
    }

    /// The number of spans of all traces.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::try_from(self.sizes().sum::<usize>()).unwrap_or(u64::MAX)
    }

    fn own(&self) -> Span {
        let ended = self.timeline.record.ended.as_ref();
        own(&self.context, self.seed, self.run, ended)
    }

    fn faults(&self, trial: &Trial) -> impl Iterator<Item = (&FaultId, &Incident)> {
        let ids = self.faults.get(&trial.number).into_iter().flatten();
        ids.filter_map(|id| self.timeline.record.incidents.get_key_value(id))
    }

    fn terms(&self, trial: &Trial) -> &[Tenure] {
        self.terms.get(&trial.number).map_or(&[], Vec::as_slice)
    }

    fn found(&self, trial: &Trial) -> &[Found] {
        self.found.get(&trial.number).map_or(&[], Vec::as_slice)
    }

    fn trial(&self, trial: &Trial) -> impl Iterator<Item = Span> {
        let faults = self.faults(trial).map(move |(id, of)| self.fault(trial, id, of));
        let terms = self.terms(trial).iter();
        let terms = terms.map(move |tenure| tenure.span(&self.context, &self.plan, trial));
        let found = self.found(trial).iter();
        let found = found.map(move |one| one.span(&self.context, &self.plan, &self.objective));
        once_with(move || self.root(trial)).chain(faults).chain(terms).chain(found)
    }

    fn root(&self, trial: &Trial) -> Span {
        let mut span = self.context.root(trial.number, trial.window);
        span.attributes = vec![self.context.numbered(trial.number)];
        span.attributes.extend(counts(self.found(trial)));
        span.attributes.extend(trial.recovered.map(|recovered| truth(names::RECOVERED, recovered)));
        span.links = vec![self.context.link(ids::OWN, names::RUN, "part_of")];
        span.events = stalls(&self.context, &self.timeline.record, trial.window);
        if trial.recovered == Some(false) {
            span.status = error("not everything settled again in time".to_owned());
        } else {
            let faults = self.faults(trial).map(|(_, of)| failure(of));
            let found = self.found(trial).iter().map(|one| one.status(&self.objective));
            span.status = worst(faults.chain(found));
        }
        span
    }

    fn fault(&self, trial: &Trial, id: &FaultId, of: &Incident) -> Span {
        let until = of.healed.unwrap_or(trial.window.until).max(of.asked);
        let during = Interval::new(of.asked, until);
        let mut span = self.context.span(trial.number, names::FAULT, &ids::fault(id), during);
        span.attributes = vec![
            text(names::FAULT_ID, &id.to_string()),
            text(names::FAULT_KIND, &of.kind),
            texts(names::FAULT_TARGETS, &of.targets),
            self.context.numbered(trial.number),
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
        span.events = events.map(|(name, at)| self.context.event(name, at, Vec::new())).collect();
        span.attributes.extend(of.failed.as_ref().map(|why| text(names::WHY, why)));
        span.status = failure(of);
        span
    }
}

/// An error status if a fault failed.
fn failure(of: &Incident) -> Option<Status> {
    let failed = of.failed.as_ref();
    failed.map_or_else(known, |why| error(format!("the fault failed: {why}")))
}

/// The span of the run itself, which has a trace of its own; `ended` is its outcome, if it ended by
/// itself.
pub(super) fn own(
    context: &RunContext,
    seed: u64,
    run: Interval,
    ended: Option<&(Outcome, Option<String>)>,
) -> Span {
    let mut span = context.root(ids::OWN, run);
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

/// The counts of findings, as attributes of a root span.
pub(super) fn counts(found: &[Found]) -> [KeyValue; 3] {
    let count = |kind: Kind, joint: bool| {
        let of = |one: &&Found| one.kind == kind && !one.unknown && one.group.is_none() == joint;
        found.iter().filter(of).map(Found::roles).sum::<u64>()
    };
    [
        number(names::GAPS, count(Kind::Gap, false)),
        number(names::JOINT_GAPS, count(Kind::Gap, true)),
        number(names::OVERLAPS, count(Kind::Overlap, false)),
    ]
}

/// The stalls of the host in `window`, as events of a root span.
pub(super) fn stalls(context: &RunContext, record: &RunRecord, window: Interval) -> Vec<Event> {
    let stalls = record.stalls.iter();
    let stalls = stalls.filter(|stall| !stall.intersect(window).is_empty());
    let event = |stall: &Interval| {
        let length = number(names::DURATION_NS, stall.length().as_nanos());
        context.event(names::HOST_STALL, stall.from, vec![length])
    };
    stalls.map(event).collect()
}

/// The status of a root span: the first error of its children, if any.
pub(super) fn worst(mut below: impl Iterator<Item = Option<Status>>) -> Option<Status> {
    below.find(|status| *status != known()).unwrap_or_else(known)
}

/// The journal's word for an outcome.
pub(super) fn outcome(how: Outcome) -> &'static str {
    match how {
        Outcome::Completed => "completed",
        Outcome::Broken => "broken",
        Outcome::Aborted => "aborted",
        Outcome::Interrupted => "interrupted",
        Outcome::Unhealed => "unhealed",
    }
}
