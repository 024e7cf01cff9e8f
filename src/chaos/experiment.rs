//! An experiment, valid by construction: what is done to whom and when, and what is claimed of it.

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
    /// How often it is repeated; at most, where it goes on for a claim.
    pub trials: u32,
    /// The claim that it goes on for.
    pub until: Option<Until>,
    /// When a trial is disturbed by the host; nothing where it does not say.
    pub disturbed: Option<Disturbance>,
    /// The gate before each trial.
    pub steady: Steady,
    /// What is done, in the order written.
    pub method: Vec<Step>,
    /// What is claimed.
    pub assertions: Vec<Assertion>,
    /// Replaces the topology's objective.
    pub objective: Option<Objective>,
    /// What it may do at most; the topology's limits hold where nothing is said.
    pub limits: Allowance,
    /// What ends the run early.
    pub stop_when: Option<Condition>,
    /// How long a trial waits for everything to settle again, where it says so.
    pub recover: Option<Span>,
}

impl Experiment {
    /// The longest pause among its steps; nothing where it has none.
    #[must_use]
    pub fn longest_pause(&self) -> Option<Duration> {
        let pauses = self.strikes().filter(|fault| fault.kind().word().class == FaultClass::Pauses);
        pauses.filter_map(|fault| fault.lasts()).max()
    }

    /// Whether a step reaches into the network between members and brokers: they must then pass
    /// edges.
    #[must_use]
    pub fn needs_edges(&self) -> bool {
        self.strikes().any(|fault| fault.network().is_some())
    }

    /// All that can strike.
    pub fn strikes(&self) -> impl Iterator<Item = AnyFault> {
        self.method.iter().flat_map(|step| step.fault.strikes())
    }
}

/// When a trial is disturbed by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbance {
    /// It kept the instrument or a member from running for longer.
    pub stall: Span,
    /// So many further trials are played at most; half of the trials where it does not say.
    pub replace: Option<u32>,
}

impl Disturbance {
    /// The rule for so many trials.
    #[must_use]
    pub fn of(self, trials: u32) -> Disturbed {
        let replace = self.replace.unwrap_or(trials.div_ceil(2));
        Disturbed { stall: self.stall, replace }
    }
}

/// The gate before each trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steady {
    /// For so long everything must have been settled.
    pub settled: Span,
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub id: StepId,
    /// When.
    pub trigger: Trigger,
    /// A uniform draw from `[0, jitter)` is added.
    pub jitter: Span,
    /// What.
    pub fault: AnyFault,
    /// To whom; nobody for `noop`.
    pub target: Option<Target>,
}

impl Step {
    /// Whom it concerns: its target; all groups where it is done to what is no member.
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
    /// So long after the trial began.
    At(Span),
    /// So long after another step was in force.
    After(StepId, Span),
}
