//! What every command ends with, for scripts: one list of codes, which README's table explains.

use schemars::JsonSchema;
use serde::Serialize;

use super::report::Report;
use super::ruling::Verdict;
use tandem_facts::observation::Outcome;

/// What a command ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(into = "u8")]
#[schemars(with = "u8")]
pub enum Exit {
    /// Done, pass, or all is as it should be.
    Pass,
    /// It could not be done.
    Unable,
    /// Wrong usage, or an invalid file: nothing was touched.
    Invalid,
    /// A claim or the objective does not hold.
    Fail,
    /// It cannot be known whether all is as it should be.
    Unknown,
    /// A limit or a stop condition ended the run.
    Limit,
    /// Something that was done is still to be undone.
    Unhealed,
    /// What is kept up is degraded: a group does not lead some role.
    Degraded,
    /// What is kept up is down: no group leads some role.
    Down,
    /// A signal ended it.
    Interrupted,
}

impl Exit {
    /// All of them, by their codes.
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

    /// The number.
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

    /// That of a process which ended so, if it is one of ours.
    #[must_use]
    pub fn of_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| i32::from(exit.code()) == code)
    }

    /// Of a run: the first of 6 (something could not be healed), 130 (interrupted), 5 (ended by a
    /// stop condition or a limit), 3 (fail), 4 (unknown), 0 (pass) that applies.
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
