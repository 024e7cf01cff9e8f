//! Ids that can be computed again: a link is written before the trace that it leads to exists, and
//! a run that is exported twice is the same run.
//!
//! A trace's id is the first 16 bytes of SHA-256 of `<run>/<trial>`, a span's the first 8 of that
//! of `<run>/<trial>/<key>`, with trial 0 for the run's own trace:
//!
//! ```sh
//! printf %s 'kill-leader-20261121T132004.123Z/1' | sha256sum | cut -c1-32
//! printf %s 'kill-leader-20261121T132004.123Z/1/chaos.trial' | sha256sum | cut -c1-16
//! ```

use ring::digest::{SHA256, digest};

use super::names;
use crate::ids::{FaultId, GroupName, Life, RoleIndex, Term, TrialNumber};
use crate::time::Mono;

/// The trace that is the run's own.
pub(super) const OWN: TrialNumber = TrialNumber(0);

/// The id of the trace of `trial` in `run`.
#[must_use]
pub fn trace_id(run: &str, trial: TrialNumber) -> [u8; 16] {
    leading(&format!("{run}/{trial}"))
}

/// The id of the span with `key` in the trace of `trial` in `run`.
#[must_use]
pub fn span_id(run: &str, trial: TrialNumber, key: &str) -> [u8; 8] {
    leading(&format!("{run}/{trial}/{key}"))
}

fn leading<const N: usize>(text: &str) -> [u8; N] {
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().first_chunk().copied().unwrap_or([1; N])
}

/// The key of the span at the root of a trace.
#[must_use]
pub fn root(trial: TrialNumber) -> &'static str {
    if trial == OWN { names::RUN } else { names::TRIAL }
}

/// The key of a fault's span.
#[must_use]
pub fn fault(fault: &FaultId) -> String {
    format!("{}/{fault}", names::FAULT)
}

/// The key of a term's span; a term has one a role and trial.
#[must_use]
pub fn term(group: &GroupName, role: RoleIndex, life: &Life, term: Term) -> String {
    format!("{}/{group}/{role}/{life}/{term}", names::LEADERSHIP)
}

/// The key of a gap's or an overlap's span; `name` is the span's.
#[must_use]
pub fn finding(name: &str, group: Option<&GroupName>, role: RoleIndex, from: Mono) -> String {
    // A name of a group has no slash, so none is taken for all of them together.
    let whose = group.map_or("/joint", GroupName::as_str);
    format!("{name}/{whose}/{role}/{}", from.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_what_the_documentation_says() {
        // printf %s 'kill-leader-20261121T132004.123Z/1' | sha256sum
        let run = "kill-leader-20261121T132004.123Z";
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&trace_id(run, TrialNumber(1))), "5a651ba21c09494d17302d7408be28e3");
        assert_eq!(hex(&span_id(run, TrialNumber(1), root(TrialNumber(1)))), "06d0002a3f8c26eb");
    }
}
