//! What every command ends with, for scripts: one list of codes, which README's table explains.

use super::report::Report;
use super::ruling::Verdict;
use tandem_facts::observation::Outcome;

/// What a command ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}

/// The first of 6 (something could not be healed), 130 (interrupted), 5 (ended by a stop condition
/// or a limit), 3 (fail), 4 (unknown), 0 (pass) that applies.
#[must_use]
pub fn exit_code(report: &Report) -> u8 {
    let exit = match (report.outcome, report.verdict) {
        (Some(Outcome::Unhealed), _) => Exit::Unhealed,
        (Some(Outcome::Interrupted), _) => Exit::Interrupted,
        (Some(Outcome::Aborted), _) => Exit::Limit,
        (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Fail) => Exit::Fail,
        (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Unknown) => Exit::Unknown,
        (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Pass) => Exit::Pass,
    };
    exit.code()
}
