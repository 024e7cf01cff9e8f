//! What a member knows of the key of one partition.

use tandem_facts::ids::Term;
use tandem_facts::time::Mono;

use super::value::Revision;

/// The key of one partition, as far as the member knows, and the member's claims on it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) state: State,
    /// The member's last claim on the partition.
    pub(super) term: Term,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The keys are not read yet.
    Unknown,
    /// The key is absent; create it at this instant.
    Free(Mono),
    /// The member asked to create the key. The last deletion that was seen since then.
    Asked(Option<Revision>),
    /// Another lease holds it.
    Taken,
    /// The member's lease holds it, since this revision.
    Ours(Revision),
}

impl Place {
    pub(super) const fn new() -> Self {
        Self { state: State::Unknown, term: Term(0) }
    }

    /// The fence, if the key is the member's.
    pub(super) const fn fence(&self) -> Option<Revision> {
        match self.state {
            State::Ours(created) => Some(created),
            State::Unknown | State::Free(_) | State::Asked(_) | State::Taken => None,
        }
    }
}
