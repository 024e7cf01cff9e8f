//! What members on a ring say to each other.

use crate::elections::among::{Peer, Word};

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// This member would lead: its origin.
    Election(Peer),
    /// This member leads: its origin.
    Elected(Peer),
    /// It has the message that this member would lead.
    TookElection(Peer),
    /// It has the message that this member leads.
    TookElected(Peer),
    /// It leaves.
    Left,
}

impl Word for Kind {
    fn parts(self) -> (u8, u64) {
        match self {
            Self::Election(peer) => (0, peer.0.into()),
            Self::Elected(peer) => (1, peer.0.into()),
            Self::TookElection(peer) => (2, peer.0.into()),
            Self::TookElected(peer) => (3, peer.0.into()),
            Self::Left => (4, 0),
        }
    }

    fn of(kind: u8, number: u64) -> Option<Self> {
        let peer = Peer(u16::try_from(number).ok()?);
        Some(match kind {
            0 => Self::Election(peer),
            1 => Self::Elected(peer),
            2 => Self::TookElection(peer),
            3 => Self::TookElected(peer),
            4 => Self::Left,
            _ => return None,
        })
    }
}
