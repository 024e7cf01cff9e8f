//! Reproducible ids: a link is written before the trace that it points to exists, and a run that is
//! exported twice is the same run.
//!
//! A trace's id is the first 16 bytes of SHA-256 of `<run>/<part>`, a span's the first 8 of that of
//! `<run>/<part>/<key>`. The part is 0 for the run's own trace, the number of a trial, or `window.`
//! and the number of a window:
//!
//! ```sh
//! printf %s 'kill-leader-20261121T132004.123Z/1' | sha256sum | cut -c1-32
//! printf %s 'kill-leader-20261121T132004.123Z/1/chaos.trial' | sha256sum | cut -c1-16
//! printf %s 'up-duo-20261121T132004.123Z/window.7' | sha256sum | cut -c1-32
//! printf %s 'up-duo-20261121T132004.123Z/window.7/up.window' | sha256sum | cut -c1-16
//! ```
//!
//! So the traces of a topology that is kept up never collide: the run's own trace and its windows'
//! traces, which are sent while it runs, and the single trial as which its journals are exported.
//! The run's own trace is built from the same facts by the same code in both cases, so it is
//! identical.

use std::fmt;

use ring::digest::{SHA256, digest};

use super::names;
use crate::ids::{FaultId, GroupName, Life, RoleIndex, Term, TrialNumber};
use crate::time::Mono;

/// The number of the run's own trace.
pub(super) const OWN: TrialNumber = TrialNumber(0);

/// A part of a run that has a trace of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The run itself.
    Run,
    /// A trial.
    Trial(TrialNumber),
    /// A window of an endless run, numbered like trials.
    Window(TrialNumber),
}

/// The trial with this number; 0 is the run.
impl From<TrialNumber> for Part {
    fn from(number: TrialNumber) -> Self {
        if number == OWN { Self::Run } else { Self::Trial(number) }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => write!(f, "{OWN}"),
            Self::Trial(number) => write!(f, "{number}"),
            Self::Window(number) => write!(f, "window.{number}"),
        }
    }
}

/// The id of the trace of a part of `run`.
#[must_use]
pub fn trace_id(run: &str, part: impl Into<Part>) -> [u8; 16] {
    leading(&format!("{run}/{}", part.into()))
}

/// The id of the span with `key` in the trace of a part of `run`.
#[must_use]
pub fn span_id(run: &str, part: impl Into<Part>, key: &str) -> [u8; 8] {
    leading(&format!("{run}/{}/{key}", part.into()))
}

fn leading<const N: usize>(text: &str) -> [u8; N] {
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().first_chunk().copied().unwrap_or([1; N])
}

/// The key of the span at the root of a trace.
#[must_use]
pub fn root(part: impl Into<Part>) -> &'static str {
    match part.into() {
        Part::Run => names::RUN,
        Part::Trial(_) => names::TRIAL,
        Part::Window(_) => names::WINDOW,
    }
}

/// The key of a fault's span.
#[must_use]
pub fn fault(fault: &FaultId) -> String {
    format!("{}/{fault}", names::FAULT)
}

/// The key of a term's span; a term has one span per role and trial, or window.
#[must_use]
pub fn term(group: &GroupName, role: RoleIndex, life: &Life, term: Term) -> String {
    format!("{}/{group}/{role}/{life}/{term}", names::LEADERSHIP)
}

/// The key of a gap's or an overlap's span; `name` is the span's.
#[must_use]
pub fn finding(name: &str, group: Option<&GroupName>, role: RoleIndex, from: Mono) -> String {
    // A group's name has no slash, so none equals the key of all groups together.
    let whose = group.map_or("/joint", GroupName::as_str);
    format!("{name}/{whose}/{role}/{}", from.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_agree_with_the_documentation() {
        // printf %s 'kill-leader-20261121T132004.123Z/1' | sha256sum
        let run = "kill-leader-20261121T132004.123Z";
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&trace_id(run, TrialNumber(1))), "5a651ba21c09494d17302d7408be28e3");
        assert_eq!(hex(&span_id(run, TrialNumber(1), root(TrialNumber(1)))), "06d0002a3f8c26eb");
        // printf %s 'up-duo-20261121T132004.123Z/window.7' | sha256sum
        let (run, window) = ("up-duo-20261121T132004.123Z", Part::Window(TrialNumber(7)));
        assert_eq!(hex(&trace_id(run, window)), "c5eddc4ac10f134dc520bc6e9c5eaacd");
        assert_eq!(hex(&span_id(run, window, root(window))), "78b8850aa776a3f9");
    }
}
