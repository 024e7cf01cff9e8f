//! The protocol of the status socket: JSON, one object per line.

use serde::{Deserialize, Serialize};

use crate::live_view::{Event, Picture};

/// The version of the protocol. A server refuses requests of a later version.
pub const VERSION: u32 = 1;
/// The longest request, in bytes.
pub const ASK_MAX: u64 = 4 << 10;
/// The longest reply, in bytes; a status with ten thousand roles has half of it.
pub const ANSWER_MAX: u64 = 8 << 20;

/// A request, one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The version of the protocol.
    pub tandem: u32,
    /// What is requested.
    pub ask: Ask,
    /// With [`Ask::Events`]: also send new events.
    #[serde(default)]
    pub follow: bool,
}

/// What a client can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// The current state.
    Status,
    /// The events.
    Events,
}

/// One line of the server: a reply with the version of the protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReplyLine {
    pub(super) tandem: u32,
    #[serde(flatten)]
    pub(super) reply: Reply,
}

/// A reply of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The current state.
    Status(Box<Picture>),
    /// An event.
    Event(Event),
    /// The last reply: there are no more events.
    End {
        /// Whether the run is over.
        over: bool,
    },
    /// The last reply: the client read too slowly, and events were dropped.
    Dropped {
        /// How many events were dropped.
        missed: u64,
    },
    /// The last reply: the server refuses the request.
    Refused {
        /// The reason.
        why: String,
    },
}

impl Reply {
    /// The reply as a line.
    pub(super) fn line(self) -> Vec<u8> {
        let line = ReplyLine { tandem: VERSION, reply: self };
        // A reply that JSON cannot express is a bug; the client gets an empty line.
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// A refusal.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::Refused { why: why.into() }
    }
}
