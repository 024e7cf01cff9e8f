//! What members say to each other in a round of `zab`.

use crate::elections::among::{Peer, Word};
use tandem_facts::time::Mono;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `NEW_LEADER`: acknowledge me in this epoch.
    NewLeader,
    /// `ACK`: you are the only one that I acknowledge in this epoch.
    Ack,
    /// `COMMIT`: a quorum has acknowledged me in this epoch; sent at this instant, which the answer
    /// repeats.
    Commit(Mono),
    /// I follow you, and have heard what you sent at this instant.
    Heard(Mono),
    /// I am in this epoch, which is yours or a newer one; who leads in it, if I know.
    Refused(Option<Peer>),
    /// I watch you: do you live?
    Watch,
    /// I live. Whether I hear the leader.
    Alive(bool),
    /// I led in this epoch, and lead no more, for I leave.
    Left,
}

impl Word for Kind {
    fn parts(self) -> (u8, u64) {
        match self {
            Self::NewLeader => (0, 0),
            Self::Ack => (1, 0),
            Self::Commit(Mono(at)) => (2, at),
            Self::Heard(Mono(at)) => (3, at),
            Self::Refused(None) => (4, 0),
            Self::Refused(Some(Peer(leader))) => (5, leader.into()),
            Self::Watch => (6, 0),
            Self::Alive(false) => (7, 0),
            Self::Alive(true) => (8, 0),
            Self::Left => (9, 0),
        }
    }

    fn of(kind: u8, number: u64) -> Option<Self> {
        Some(match kind {
            0 => Self::NewLeader,
            1 => Self::Ack,
            2 => Self::Commit(Mono(number)),
            3 => Self::Heard(Mono(number)),
            4 => Self::Refused(None),
            5 => Self::Refused(Some(Peer(u16::try_from(number).ok()?))),
            6 => Self::Watch,
            7 => Self::Alive(false),
            8 => Self::Alive(true),
            9 => Self::Left,
            _ => return None,
        })
    }
}
