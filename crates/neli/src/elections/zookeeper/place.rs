//! What a member knows of the nodes of one partition.

use tandem_facts::ids::Term;
use tandem_facts::time::Mono;

use super::value::Zxid;

/// The nodes of one partition, as far as the member knows, and the member's claims on it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) state: State,
    /// Whether the member has found its place among the others in this session.
    pub(super) known: bool,
    /// Whether it claims the partition.
    pub(super) claimed: bool,
    /// The number of the watch that counts.
    pub(super) watch: Option<u64>,
    /// The member's last claim on the partition.
    pub(super) term: Term,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// List the nodes at this instant.
    Look(Mono),
    /// The member asked for the nodes, or to create its own.
    Asked,
    /// Another node is before its own, and it watches the nearest.
    Behind,
    /// Its node is the lowest, and it has asked to watch it.
    First,
    /// Its node is the lowest, and was created by this transaction.
    Ours(Zxid),
}

impl Place {
    pub(super) const fn new(now: Mono) -> Self {
        Self { state: State::Look(now), known: false, claimed: false, watch: None, term: Term(0) }
    }

    /// The fence, if the member's node is the lowest.
    pub(super) const fn fence(&self) -> Option<Zxid> {
        match self.state {
            State::Ours(created) => Some(created),
            State::Look(_) | State::Asked | State::Behind | State::First => None,
        }
    }

    /// As it is in a new session.
    pub(super) fn forget(&mut self, now: Mono) {
        *self = Self { term: self.term, ..Self::new(now) };
    }

    /// It lists the nodes again.
    pub(super) fn look(&mut self, at: Mono) {
        (self.state, self.watch) = (State::Look(at), None);
    }
}
