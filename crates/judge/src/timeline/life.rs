//! One life of one member: its claims, ticks, stops and death, and the times in which its state is
//! unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Interval, IntervalSet};
use tandem_facts::ids::{FaultId, PartitionId, Term};
use tandem_facts::observation::{External, Fact, FaultClass, Horizon, MemberEvent, RunEvent, What};
use tandem_facts::time::Mono;

/// A longer hole in the ticks is not service.
pub(super) const TICKLESS_NS_MAX: u64 = 100_000_000;

/// A leading life reports its ticks every 50 ms and its claims every 100 ms. If a life that claims
/// and can report is silent for longer than this, its state is unknown.
pub(super) const SILENCE_MAX: Duration = Duration::from_millis(250);

/// The end of what has not ended yet.
pub(super) const END: Mono = Mono(u64::MAX);

/// One life, according to its own facts and the controller's.
#[derive(Debug, Clone, Default)]
pub struct LifeLine {
    pub(super) started: Option<Mono>,
    pub(super) claims: BTreeMap<(PartitionId, Term), Interval>,
    pub(super) open: BTreeSet<(PartitionId, Term)>,
    pub(super) ticks: BTreeMap<PartitionId, Vec<Interval>>,
    pub(super) held: BTreeMap<PartitionId, Vec<Interval>>,
    pub(super) stops: Vec<Stop>,
    pub(super) death: Option<Pair>,
    pub(super) unknown: IntervalSet,
    pub(super) asked: Requests,
    pub(super) not_yet: Option<Mono>,
    pub(super) last: Option<(u64, Mono)>,
    pub(super) reports: Reports,
    /// Since when it goes on with a clock that was not compared.
    pub(super) strange: Option<Mono>,
    /// How far its instants may be off, in either direction.
    pub(super) error: Duration,
}

/// When a life that can report does so, at least each 100 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Reports {
    /// While it claims something.
    #[default]
    Claims,
    /// Always: what was not started here may come to claim something that no fact says yet.
    Always,
    /// Never: its clock is another one, and was not compared with that of the run.
    Never,
}

/// The end of something, between two instants: when it was asked for, and when it was confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) asked: Mono,
    pub(super) confirmed: Mono,
}

/// A time in which the process was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) began: Pair,
    /// When the process continued, according to the kernel.
    pub(super) until: Option<Pair>,
}

/// For each kind of request, those without a visible effect so far. A later request does not undo
/// what an earlier one may have done.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests {
    pub(super) kill: Request,
    pub(super) pause: Request,
}

/// All requests of one kind without a visible effect so far that did not fail.
#[derive(Debug, Clone, Default)]
pub(super) struct Request(Vec<(FaultId, Mono)>);

impl Request {
    /// The time of the first request.
    pub(super) fn first(&self) -> Option<Mono> {
        self.0.iter().map(|(_, at)| *at).min()
    }

    /// The same, and forgets all requests, since their effect is visible.
    fn take(&mut self) -> Option<Mono> {
        let first = self.first();
        self.0.clear();
        first
    }
}

impl LifeLine {
    /// Takes the next fact that the member wrote, in the order of `seq`.
    pub fn hear(&mut self, fact: &Fact) {
        let What::Member(event) = &fact.what else { return };
        match self.last {
            Some((seq, _)) if fact.seq <= seq => return,
            Some((seq, t)) if fact.seq > seq + 1 => self.forget(Interval::new(t, fact.t)),
            None if fact.seq > 1 => {
                let from = self.started.unwrap_or(Mono::ZERO);
                self.forget(Interval::new(from, fact.t));
            }
            Some(_) | None => {}
        }
        self.last = Some((fact.seq, fact.t));
        self.take(fact.t, event);
    }

    fn take(&mut self, t: Mono, event: &MemberEvent) {
        match event {
            MemberEvent::Assigned { partitions, .. } => {
                self.release(t, |partition| !partitions.contains(&partition));
                for partition in partitions {
                    self.hold(t, *partition);
                }
            }
            MemberEvent::Revoked { partitions } | MemberEvent::Lost { partitions } => {
                self.release(t, |partition| partitions.contains(&partition));
            }
            MemberEvent::Claimed { partition, term, from, until, .. } => {
                let claim = Interval::new(*from, *until);
                self.claims.insert((*partition, *term), claim);
                self.open.insert((*partition, *term));
            }
            MemberEvent::Renewed { claims } => self.renew(t, claims),
            MemberEvent::Lapsed { partition, term, at, .. } => {
                let key = (*partition, *term);
                if let Some(claim) = self.claims.get_mut(&key) {
                    claim.until = *at;
                }
                self.open.remove(&key);
            }
            MemberEvent::Ticks { partitions, from, until } => self.tick(partitions, *from, *until),
            MemberEvent::Hole { from, until } => self.forget(Interval::new(*from, *until)),
            MemberEvent::Leaving => {
                self.renew(t, &[]);
                self.release(t, |_| true);
            }
            MemberEvent::Clock { .. }
            | MemberEvent::Late { .. }
            | MemberEvent::Unconnected { .. }
            | MemberEvent::Connected
            | MemberEvent::Refused { .. } => {}
        }
    }

    /// All claims at `now`. A claim that is new here began in a lost fact, and a claim that is
    /// missing here ended in one.
    fn renew(&mut self, now: Mono, claims: &[Horizon]) {
        let mut open = BTreeSet::new();
        for horizon in claims {
            let key = (horizon.partition, horizon.term);
            let claim = self.claims.entry(key).or_insert(Interval::new(now, horizon.until));
            claim.until = claim.until.max(horizon.until);
            open.insert(key);
        }
        for gone in self.open.difference(&open) {
            if let Some(claim) = self.claims.get_mut(gone) {
                claim.until = claim.until.min(now);
            }
        }
        self.open = open;
    }

    /// Merges runs of ticks unless the hole between them is too long to be service.
    fn tick(&mut self, partitions: &[PartitionId], from: Mono, until: Mono) {
        for partition in partitions {
            let runs = self.ticks.entry(*partition).or_default();
            match runs.last_mut() {
                Some(last) if from.0 <= last.until.0.saturating_add(TICKLESS_NS_MAX) => {
                    last.from = last.from.min(from);
                    last.until = last.until.max(until);
                }
                Some(_) | None => runs.push(Interval::new(from, until)),
            }
        }
    }

    fn hold(&mut self, at: Mono, partition: PartitionId) {
        let holdings = self.held.entry(partition).or_default();
        if holdings.last().is_none_or(|last| last.until != END) {
            holdings.push(Interval::new(at, END));
        }
    }

    fn release(&mut self, at: Mono, gone: impl Fn(PartitionId) -> bool) {
        for (_, holdings) in self.held.iter_mut().filter(|(partition, _)| gone(**partition)) {
            if let Some(last) = holdings.last_mut() {
                last.until = last.until.min(at);
            }
        }
    }

    /// Takes the next fact that the controller wrote about this life.
    pub fn record(&mut self, fact: &Fact) {
        let What::Run(event) = &fact.what else { return };
        let not_yet = self.not_yet.take();
        match event {
            RunEvent::Started { external, .. } => self.start(fact.t, external.as_ref()),
            RunEvent::Died { .. } => {
                let asked = self.asked.kill.take().map_or(fact.t, |at| at.min(fact.t));
                self.death.get_or_insert(Pair { asked, confirmed: fact.t });
            }
            RunEvent::NotYet => self.not_yet = Some(fact.t),
            RunEvent::Stopped => self.stop(not_yet, fact.t),
            RunEvent::Continued => {
                let asked = not_yet.unwrap_or(fact.t).min(fact.t);
                if let Some(last) = self.stops.last_mut() {
                    last.until.get_or_insert(Pair { asked, confirmed: fact.t });
                }
            }
            RunEvent::FaultAsked { class, fault, .. } => match class {
                FaultClass::Kills => self.asked.kill.0.push((fault.clone(), fact.t)),
                FaultClass::Pauses => self.asked.pause.0.push((fault.clone(), fact.t)),
                // A leaving life reports the end of its claims itself.
                FaultClass::Leaves
                | FaultClass::Intercepts
                | FaultClass::Skews
                | FaultClass::Duplicates
                | FaultClass::Brokers
                | FaultClass::Other
                | FaultClass::Nothing => {}
            },
            RunEvent::FaultInForce { .. } => {
                // The author of this fact has seen the process stopped, even if that fact was lost.
                if self.asked.pause.first().is_some() {
                    self.stop(None, fact.t);
                }
            }
            RunEvent::FaultHealed { .. }
            | RunEvent::Orders { .. }
            | RunEvent::Reconnected { .. }
            | RunEvent::FaultFailed { .. }
            | RunEvent::Struck { .. }
            | RunEvent::TrialBegan { .. }
            | RunEvent::TrialEnded { .. }
            | RunEvent::Settled { .. }
            | RunEvent::ClusterStarted { .. }
            | RunEvent::ClusterDied { .. }
            | RunEvent::BrokerLost { .. }
            | RunEvent::BrokerBack { .. }
            | RunEvent::EdgesStarted { .. }
            | RunEvent::EdgesDied
            | RunEvent::Stall { .. }
            | RunEvent::Processors { .. }
            | RunEvent::Suspended { .. }
            | RunEvent::Unwritten { .. }
            | RunEvent::Unattended { .. }
            | RunEvent::Ended { .. } => {}
        }
    }

    fn start(&mut self, at: Mono, external: Option<&External>) {
        self.started = Some(self.started.map_or(at, |known| known.min(at)));
        let Some(external) = external else { return };
        let Some(error) = external.error() else {
            self.strange.get_or_insert(at);
            (self.reports, self.error) = (Reports::Never, Duration::ZERO);
            return;
        };
        // Now its clock was compared. What it did before is in none of its facts.
        if let Some(from) = self.strange.take() {
            self.forget(Interval::new(from, at));
        }
        (self.reports, self.error) = (Reports::Always, error);
    }

    /// The fault failed: its requests without a visible effect had none, and later events are not
    /// its effects.
    pub fn fail(&mut self, failed: &FaultId) {
        for request in [&mut self.asked.kill, &mut self.asked.pause] {
            request.0.retain(|(fault, _)| fault != failed);
        }
    }

    /// A stop without a request counts from the last check that did not find it.
    fn stop(&mut self, not_yet: Option<Mono>, confirmed: Mono) {
        let seen = not_yet.unwrap_or(confirmed).min(confirmed);
        let asked = self.asked.pause.take().map_or(seen, |at| at.min(confirmed));
        if self.stops.last().is_none_or(|last| last.until.is_some()) {
            self.stops.push(Stop { began: Pair { asked, confirmed }, until: None });
        }
    }

    /// The state of this life is unknown in `span`.
    pub fn forget(&mut self, span: Interval) {
        self.unknown = self.unknown.union(&span.into());
    }

    /// When the process was stopped, from the request on.
    pub(super) fn stopped(&self) -> IntervalSet {
        let until = |stop: &Stop| stop.until.map_or(END, |until| until.confirmed);
        self.stops.iter().map(|stop| Interval::new(stop.began.asked, until(stop))).collect()
    }

    /// Whether the life still has to report, by what it has said.
    pub(super) fn is_due(&self) -> bool {
        match self.reports {
            Reports::Claims => !self.open.is_empty(),
            Reports::Always => true,
            Reports::Never => false,
        }
    }

    /// Ends the life after the last fact. A life that still had to report after its last fact, and
    /// wrote no more although neither it nor the host (`stalls`) was stopped, has lost its channel:
    /// its state is unknown from then until its death was confirmed.
    pub fn close(&mut self, stalls: &IntervalSet) {
        let end = self.death.map_or(END, |death| death.confirmed);
        if let Some(t) = self.spoke()
            && self.is_due()
        {
            let asked = self.death.map_or(END, |death| death.asked);
            let silent = IntervalSet::from(Interval::new(t, asked));
            if silent.subtract(&self.stopped()).subtract(stalls).total() > SILENCE_MAX {
                self.forget(Interval::new(t, end));
            }
        }
        if let Some(from) = self.strange {
            self.forget(Interval::new(from, end));
        }
        let lived = Interval::new(self.started.unwrap_or(Mono::ZERO), end);
        self.unknown = self.unknown.within(lived);
    }
}
