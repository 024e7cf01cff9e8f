//! Election by Leader and Followers with a generation clock, among the members of a group alone.
//!
//! Each partition elects by itself. A member is a follower, a candidate or its leader,
//! and has one vote in a generation, which is on its disk before it is given. There is no log to
//! replicate: of the check that a candidate is up to date only the generation is left.
//!
//! Two never lead a partition at once, by four rules:
//!
//! - A leader claims until a majority's answers to its heartbeats are older than the session less
//!   [`RATE`], counted from the instant *before it sent* the heartbeat that they answer.
//! - A member that answers a heartbeat gives no vote and does not stand for a session from its
//!   receipt, unless the leader resigns. Each later leader needs the vote of one of the majority.
//! - A member that has forgotten what it answered, because it has started again, gives no vote and
//!   does not stand for a session.
//! - A message of an older generation is refused: what is known of a newer one cannot be undone.
//!
//! Before a candidate takes a new generation, it polls the others, which changes nothing. So a
//! member that returns disturbs no leader.

mod instance;

pub use super::among::{Ballot, Config, Generation, Peer, RATE, Votes};
pub use instance::Instance;

use super::among::{self, Word};
use tandem_facts::time::Mono;

/// A member that elects so.
pub type Voter = among::Member<Instance>;
/// A message about one partition: its generation is that of its sender there; of a poll, the one in
/// which the sender would stand.
pub type Message = among::Message<Kind>;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Would you vote for me? It changes nothing at the receiver.
    Poll,
    /// I would.
    Favoured,
    /// Vote for me.
    Ask,
    /// You have my vote in this generation.
    Vote,
    /// I lead; sent at this instant of the leader's clock, which the answer repeats.
    Heartbeat(Mono),
    /// I have heard the heartbeat that you sent at this instant.
    Heard(Mono),
    /// No; my generation is in the message.
    Refused,
    /// The leader of this generation has ended its claim, for it leaves.
    Resigned,
}

impl Word for Kind {
    fn parts(self) -> (u8, u64) {
        match self {
            Self::Poll => (0, 0),
            Self::Favoured => (1, 0),
            Self::Ask => (2, 0),
            Self::Vote => (3, 0),
            Self::Heartbeat(at) => (4, at.0),
            Self::Heard(at) => (5, at.0),
            Self::Refused => (6, 0),
            Self::Resigned => (7, 0),
        }
    }

    fn of(kind: u8, number: u64) -> Option<Self> {
        Some(match kind {
            0 => Self::Poll,
            1 => Self::Favoured,
            2 => Self::Ask,
            3 => Self::Vote,
            4 => Self::Heartbeat(Mono(number)),
            5 => Self::Heard(Mono(number)),
            6 => Self::Refused,
            7 => Self::Resigned,
            _ => return None,
        })
    }
}
