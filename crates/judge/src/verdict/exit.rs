//! The exit codes of all commands, for scripts. The table in README explains them.

use schemars::JsonSchema;
use serde::Serialize;

use super::report::Report;
use super::ruling::Verdict;
use tandem_facts::observation::Outcome;

/// An exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(into = "u8")]
#[schemars(with = "u8")]
pub enum Exit {
    /// Success, verdict pass, or a healthy state.
    Pass,
    /// The command could not do its work.
    Unable,
    /// Wrong usage, or an invalid file; nothing was changed.
    Invalid,
    /// A claim or the objective does not hold.
    Fail,
    /// It is unknown whether all claims hold.
    Unknown,
    /// A limit or a stop condition ended the run.
    Limit,
    /// Something could not be undone.
    Unhealed,
    /// A topology that is kept up is degraded: a group does not lead some role.
    Degraded,
    /// A topology that is kept up is down: no group leads some role.
    Down,
    /// A signal ended the command.
    Interrupted,
}

impl Exit {
    /// All exit codes, in order.
    pub const ALL: [Self; 10] = [
        Self::Pass,
        Self::Unable,
        Self::Invalid,
        Self::Fail,
        Self::Unknown,
        Self::Limit,
        Self::Unhealed,
        Self::Degraded,
        Self::Down,
        Self::Interrupted,
    ];

    /// The code as a number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Unable => 1,
            Self::Invalid => 2,
            Self::Fail => 3,
            Self::Unknown => 4,
            Self::Limit => 5,
            Self::Unhealed => 6,
            Self::Degraded => 7,
            Self::Down => 8,
            Self::Interrupted => 130,
        }
    }

    /// The exit code with this number, if it is one of Tandem's.
    #[must_use]
    pub fn of_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| i32::from(exit.code()) == code)
    }

    /// The exit code of a run: the first that applies of 6 (something could not be healed), 130
    /// (interrupted), 5 (ended by a stop condition or a limit), 3 (fail), 4 (unknown), 0 (pass).
    #[must_use]
    pub const fn of(report: &Report) -> Self {
        match (report.outcome, report.verdict) {
            (Some(Outcome::Unhealed), _) => Self::Unhealed,
            (Some(Outcome::Interrupted), _) => Self::Interrupted,
            (Some(Outcome::Aborted), _) => Self::Limit,
            (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Fail) => Self::Fail,
            (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Unknown) => Self::Unknown,
            (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Pass) => Self::Pass,
        }
    }
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> Self {
        exit.code()
    }
}
