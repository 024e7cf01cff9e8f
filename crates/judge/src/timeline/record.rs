//! The controller's record of a run: trials, faults, stalls of the host, and its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::lateness::{Lateness, Processors};
use super::{Interval, IntervalSet};
use tandem_facts::ids::{FaultId, Life, TrialNumber};
use tandem_facts::observation::{
    ClockDomain, Fact, FaultClass, MemberEvent, Outcome, RunEvent, What,
};
use tandem_facts::time::Mono;

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// The number of the trial.
    pub number: TrialNumber,
    /// From the start of the trial to its end.
    pub window: Interval,
    /// Whether everything settled again in time; none if the trial was cut off.
    pub recovered: Option<bool>,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// The fault's name as experiments write it.
    pub kind: String,
    /// The fault's effect on its victims.
    pub class: FaultClass,
    /// The victims: lives, as in `p1-1.2`, or brokers' addresses.
    pub targets: Vec<String>,
    /// When the controller was about to inject the fault into the first victim.
    pub asked: Mono,
    /// When the fault was in force on the last victim.
    pub in_force: Option<Mono>,
    /// When the fault was gone from the last victim.
    pub healed: Option<Mono>,
    /// When a broker first answered the last victim after that, if the victims were cut off.
    pub reconnected: Option<Mono>,
    /// Why the fault could not be injected or healed.
    pub failed: Option<String>,
    /// The time between the first and the last victim, if there were several.
    pub skew: Option<Duration>,
}

/// The controller's record of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunRecord {
    /// The trials, in order.
    pub trials: Vec<Trial>,
    /// The faults.
    pub incidents: BTreeMap<FaultId, Incident>,
    /// When the host did not schedule the controller's canary.
    pub stalls: Vec<Interval>,
    /// When the canary or a member was late, and how much of that it waited for a processor.
    pub lateness: Vec<Lateness>,
    /// The use of the processors meanwhile, in order.
    pub processors: Vec<Processors>,
    /// When the host was suspended.
    pub suspends: Vec<Interval>,
    /// When facts were not written, and how many.
    pub unwritten: Vec<(Interval, u64)>,
    /// How the run ended, with an explanation, if it ended by itself.
    pub ended: Option<(Outcome, Option<String>)>,
    /// Since when no process observed the run: the controller did not run, until its guard ended
    /// the run.
    pub unattended: Option<Mono>,
    /// Of each other clock with which members were compared: how far their instants may be off.
    pub clocks: BTreeMap<ClockDomain, Duration>,
    /// When each life said that it reaches its brokers, or the others of its group, again.
    pub connected: BTreeMap<Life, BTreeSet<Mono>>,
    pub(super) open: Option<(TrialNumber, Mono)>,
}

impl RunRecord {
    /// Whether any trial ran to its end; otherwise there is no result.
    #[must_use]
    pub fn is_played(&self) -> bool {
        self.trials.iter().any(|trial| trial.recovered.is_some())
    }

    /// The times that no process observed: the host was suspended, or facts were not written.
    #[must_use]
    pub fn unseen(&self) -> IntervalSet {
        let unwritten = self.unwritten.iter().map(|(span, _)| *span);
        self.suspends.iter().copied().chain(unwritten).collect()
    }

    /// Takes a fact of the controller, in the order of `seq`.
    pub(super) fn observe(&mut self, fact: &Fact) {
        let What::Run(event) = &fact.what else { return };
        match event {
            RunEvent::TrialBegan { trial } => {
                self.cut(fact.t);
                self.open = Some((*trial, fact.t));
            }
            RunEvent::TrialEnded { trial, recovered } => {
                if let Some((number, from)) = self.open.take_if(|(open, _)| open == trial) {
                    let window = Interval::new(from, fact.t);
                    self.trials.push(Trial { number, window, recovered: *recovered });
                }
            }
            RunEvent::Stall { from, until, .. } => {
                self.stalls.push(Interval::new(*from, *until));
                self.lateness.extend(Lateness::of(fact));
            }
            RunEvent::Processors { .. } => self.processors.extend(Processors::of(fact)),
            RunEvent::Suspended { from, until } => self.suspends.push(Interval::new(*from, *until)),
            RunEvent::Unwritten { from, until, facts } => {
                self.unwritten.push((Interval::new(*from, *until), *facts));
            }
            RunEvent::Unattended { from } => self.unattended = Some(*from),
            RunEvent::Ended { how, why } => self.ended = Some((*how, why.clone())),
            RunEvent::FaultAsked { fault, kind, class, broker, .. } => {
                let target = fact.life.as_ref().map(ToString::to_string).or_else(|| broker.clone());
                self.incident(fault, (kind, *class), fact.t).targets.extend(target);
            }
            RunEvent::FaultInForce { fault } => self.on(fault, |one| one.in_force = Some(fact.t)),
            RunEvent::FaultHealed { fault } => self.on(fault, |one| one.healed = Some(fact.t)),
            RunEvent::Reconnected { fault, .. } => {
                self.on(fault, |one| one.reconnected = one.reconnected.max(Some(fact.t)));
            }
            RunEvent::FaultFailed { fault, kind, class, why } => {
                self.incident(fault, (kind, *class), fact.t).failed = Some(why.clone());
            }
            RunEvent::Struck { fault, skew_ns, .. } => {
                self.on(fault, |one| one.skew = Some(Duration::from_nanos(*skew_ns)));
            }
            RunEvent::Started { external, .. } => {
                let other = external.iter().filter(|external| !external.same_clock);
                for (of, error) in other.filter_map(|of| Some((of, of.error()?))) {
                    let known = self.clocks.entry(of.clock.clone()).or_default();
                    *known = error.max(*known);
                }
            }
            RunEvent::Died { .. }
            | RunEvent::NotYet
            | RunEvent::Stopped
            | RunEvent::Continued
            | RunEvent::Orders { .. }
            | RunEvent::Settled { .. }
            | RunEvent::ClusterStarted { .. }
            | RunEvent::ClusterDied { .. }
            | RunEvent::BrokerLost { .. }
            | RunEvent::BrokerBack { .. }
            | RunEvent::EdgesStarted { .. }
            | RunEvent::EdgesDied => {}
        }
    }

    /// Takes a member's fact about itself, in any order.
    pub(super) fn hear(&mut self, fact: &Fact) {
        self.lateness.extend(Lateness::of(fact));
        if let (What::Member(MemberEvent::Connected), Some(life)) = (&fact.what, &fact.life) {
            self.connected.entry(life.clone()).or_default().insert(fact.t);
        }
    }

    /// The fault, which starts with its first fact.
    fn incident(
        &mut self,
        fault: &FaultId,
        (kind, class): (&str, FaultClass),
        t: Mono,
    ) -> &mut Incident {
        self.incidents.entry(fault.clone()).or_insert_with(|| Incident {
            kind: kind.to_owned(),
            class,
            targets: Vec::new(),
            asked: t,
            in_force: None,
            healed: None,
            reconnected: None,
            failed: None,
            skew: None,
        })
    }

    /// Ends a trial that is still open at `at`, where the run was cut off.
    pub(super) fn cut(&mut self, at: Mono) {
        if let Some((number, from)) = self.open.take() {
            let window = Interval::new(from, at);
            self.trials.push(Trial { number, window, recovered: None });
        }
    }

    /// An abandoned trial had no time to recover.
    pub(super) fn leave(&mut self) {
        let Some(left) = self.unattended else { return };
        for trial in self.trials.iter_mut().filter(|trial| trial.window.until > left) {
            trial.recovered = None;
        }
    }

    fn on(&mut self, fault: &FaultId, change: impl FnOnce(&mut Incident)) {
        if let Some(incident) = self.incidents.get_mut(fault) {
            change(incident);
        }
    }
}
