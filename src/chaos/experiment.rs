//! An experiment, valid by construction: what is done to whom and when, and what is claimed of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::ids::{GroupName, MemberId, RoleName, StepId};
use crate::time::Span;
use crate::topology::{Allowance, Objective};
use crate::verdict::{Assertion, Condition};

/// An experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// The topology that it names, relative to the current directory.
    pub topology: Option<PathBuf>,
    /// The seed that it names.
    pub seed: Option<u64>,
    /// How often it is repeated.
    pub trials: u32,
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
        let pauses = self.method.iter().filter(|step| step.fault == Fault::Pause);
        pauses.filter_map(|step| step.lasts).map(Span::get).max()
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
    pub fault: Fault,
    /// To whom; nobody for `noop`.
    pub target: Option<Target>,
    /// For how long: a pause, a noop.
    pub lasts: Option<Span>,
    /// Replaces the topology's restart for the victims.
    pub restart_after: Option<Span>,
    /// The restart may come before the dead one's session is over.
    pub overlap_restart: bool,
}

/// When a step is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// So long after the trial began.
    At(Span),
    /// So long after another step was in force.
    After(StepId, Span),
}

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, and SIGCONT later.
    Pause,
    /// SIGKILL to a broker of `deploy/kafka/up`, and its restart.
    Broker,
    /// Nothing, for the control trial.
    Noop,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Kill, Self::Pause, Self::Broker, Self::Noop];

    /// The word that experiments use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::Broker => "broker",
            Self::Noop => "noop",
        }
    }
}

/// To whom it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This member.
    Member(MemberId),
    /// Whoever leads the role (any: a seeded choice) in the group (any: a seeded choice).
    LeaderOf {
        /// Which role; a seeded choice where nothing is named.
        role: Option<RoleName>,
        /// In which group; a seeded choice where nothing is named.
        group: Option<GroupName>,
    },
    /// Whoever leads the role in each of these groups, all at once.
    LeadersAcross {
        /// Which role, the same in every group; a seeded choice where nothing is named.
        role: Option<RoleName>,
        /// In which groups, and how close together.
        across: Across,
    },
    /// Some members of a group; a seeded choice where no group is named.
    Group {
        /// Which group.
        group: Option<GroupName>,
        /// How many of its members.
        mode: Pick,
    },
    /// The broker that coordinates a group; a seeded choice where no group is named.
    Coordinator {
        /// Which group.
        group: Option<GroupName>,
    },
    /// Some members of each of these groups, all at once.
    GroupsAcross {
        /// How many members of each.
        mode: Pick,
        /// Which groups, and how close together.
        across: Across,
    },
}

/// Several groups with one deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Across {
    /// Which groups; all where nothing is named.
    pub groups: Option<BTreeSet<GroupName>>,
    /// The last victim is struck no later than this after the first, or the fault has failed.
    pub within: Span,
}

/// How many members of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// One, a seeded choice.
    One,
    /// The most that are fewer than half.
    Minority,
    /// The least that are more than half.
    Majority,
    /// All.
    All,
    /// All that lead something.
    Leaders,
    /// So many, a seeded choice.
    Count(u32),
    /// So many of a hundred, rounded up, a seeded choice.
    Percent(u32),
}
