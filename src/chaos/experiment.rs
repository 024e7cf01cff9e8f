//! An experiment, valid by construction: which faults hit which targets and when, and what is
//! claimed about the outcome.

use std::path::PathBuf;
use std::time::Duration;

use super::{Across, AnyFault, Pick, Target, Targets};
use crate::ids::StepId;
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::{Allowance, Objective};
use crate::verdict::{Assertion, Condition, Disturbed, Until};

/// An experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// The topology that it names, relative to the current directory.
    pub topology: Option<PathBuf>,
    /// The seed that it names.
    pub seed: Option<u64>,
    /// The number of trials; the maximum, if the experiment repeats until a claim holds.
    pub trials: u32,
    /// The claim that the experiment repeats until it holds.
    pub until: Option<Until>,
    /// When a trial counts as disturbed by the host; `None` if never.
    pub disturbed: Option<Disturbance>,
    /// The gate before each trial.
    pub steady: Steady,
    /// The steps, in the order of the file.
    pub method: Vec<Step>,
    /// The claims.
    pub assertions: Vec<Assertion>,
    /// Replaces the topology's objective.
    pub objective: Option<Objective>,
    /// The experiment's limits; the topology's apply where it sets none.
    pub limits: Allowance,
    /// The condition that ends the run early.
    pub stop_when: Option<Condition>,
    /// How long a trial waits for everything to settle again; `None` for the default.
    pub recover: Option<Span>,
}

impl Experiment {
    /// The longest pause among its steps; `None` if it pauses nothing.
    #[must_use]
    pub fn longest_pause(&self) -> Option<Duration> {
        let pauses = self.strikes().filter(|fault| fault.kind().word().class == FaultClass::Pauses);
        pauses.filter_map(|fault| fault.lasts()).max()
    }

    /// Whether a step disturbs the network between members and brokers, which requires edges.
    #[must_use]
    pub fn needs_edges(&self) -> bool {
        self.strikes().any(|fault| fault.network().is_some())
    }

    /// Every fault that can be injected.
    pub fn strikes(&self) -> impl Iterator<Item = AnyFault> {
        self.method.iter().flat_map(|step| step.fault.strikes())
    }
}

/// When a trial counts as disturbed by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbance {
    /// The host kept the instrument or a member from running for longer than this.
    pub stall: Span,
    /// The most trials that are added as replacements; default: half of the trials.
    pub replace: Option<u32>,
}

impl Disturbance {
    /// The rule for a run of `trials`.
    #[must_use]
    pub fn of(self, trials: u32) -> Disturbed {
        let replace = self.replace.unwrap_or(trials.div_ceil(2));
        Disturbed { stall: self.stall, replace }
    }
}

/// The gate before each trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steady {
    /// How long everything must have been settled.
    pub settled: Span,
}

/// One step of the method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub id: StepId,
    /// When it is due.
    pub trigger: Trigger,
    /// A uniform draw from `[0, jitter)` is added.
    pub jitter: Span,
    /// The fault.
    pub fault: AnyFault,
    /// The target; `None` for `noop`.
    pub target: Option<Target>,
}

impl Step {
    /// The groups it concerns: its target, or all groups if the fault is not done to members.
    #[must_use]
    pub fn concerns(&self) -> Option<Target> {
        let anything = self.fault.kind().word().targets == Targets::Anything;
        let all = || Target::GroupsAcross {
            mode: Pick::All,
            across: Across { groups: None, within: Span::default() },
        };
        self.target.clone().or_else(|| anything.then(all))
    }
}

/// When a step is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// This long after the trial began.
    At(Span),
    /// This long after another step was in force.
    After(StepId, Span),
}
