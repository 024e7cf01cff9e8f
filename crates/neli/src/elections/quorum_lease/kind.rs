//! What voters and candidates say to each other.

use crate::elections::among::Word;
use tandem_facts::time::Mono;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Grant me the lease of this term; sent at this instant, which the answer repeats.
    Ask(Mono),
    /// You have my vote in this term, and a lease from here on.
    Granted(Mono),
    /// No; the term in which I voted last is in the message.
    Refused,
    /// I do not want the lease of this term any longer.
    Released,
}

impl Word for Kind {
    fn parts(self) -> (u8, u64) {
        match self {
            Self::Ask(at) => (0, at.0),
            Self::Granted(at) => (1, at.0),
            Self::Refused => (2, 0),
            Self::Released => (3, 0),
        }
    }

    fn of(kind: u8, number: u64) -> Option<Self> {
        Some(match kind {
            0 => Self::Ask(Mono(number)),
            1 => Self::Granted(Mono(number)),
            2 => Self::Refused,
            3 => Self::Released,
            _ => return None,
        })
    }
}
