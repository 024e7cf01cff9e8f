//! What the transcripts of all elections show alike: changes of leadership, and the next timeout.

use std::fmt::Debug;

use tandem::ids::PartitionId;
use tandem::neli::Event;
use tandem::time::Mono;

/// An instant in milliseconds.
pub(super) fn show(at: Mono) -> u64 {
    at.0 / 1_000_000
}

/// A line about a change of leadership.
pub(super) fn change<F: Debug>(event: &Event, fence: impl FnOnce(PartitionId) -> F) -> String {
    match event {
        Event::Acquired { claim, from, .. } => {
            let (k, term, until) = (claim.partition, claim.term.0, show(claim.until));
            format!("acquired {k} term {term} {}..{until} fence {:?}\n", show(*from), fence(k))
        }
        Event::Ended { claim, why } => {
            let (k, term, until) = (claim.partition, claim.term.0, show(claim.until));
            format!("ended {k} term {term} at {until}: {why:?}\n")
        }
    }
}

/// The line about the next timeout.
pub(super) fn timeout(at: Option<Mono>, is_gone: bool) -> String {
    match at {
        Some(at) => format!("timeout {}\n", show(at)),
        None => format!("no timeout{}\n", if is_gone { ", gone" } else { "" }),
    }
}
