//! What is asked and answered, a line each.

use serde::{Deserialize, Serialize};

use crate::live_view::{Event, Picture};

/// The version of these words. Who is asked in a later one refuses.
pub const VERSION: u32 = 1;
/// The longest line that may ask.
pub const ASK_MAX: u64 = 4 << 10;
/// The longest line of an answer; a picture of ten thousand roles has half of it.
pub const ANSWER_MAX: u64 = 8 << 20;

/// The line that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The version.
    pub tandem: u32,
    /// What is asked for.
    pub ask: Ask,
    /// Events that are still to come, too.
    #[serde(default)]
    pub follow: bool,
}

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// How everything stands.
    Status,
    /// What happened.
    Events,
}

/// A line of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReplyLine {
    pub(super) tandem: u32,
    #[serde(flatten)]
    pub(super) said: Reply,
}

/// What a line of an answer says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// How everything stands.
    Status(Box<Picture>),
    /// What happened.
    Event(Event),
    /// All was said.
    End {
        /// The run is over, and nothing will follow.
        over: bool,
    },
    /// So many events were not told: who asked was too slow to read, and is told no more.
    Dropped {
        /// How many.
        missed: u64,
    },
    /// Nothing is told.
    Refused {
        /// Why not.
        why: String,
    },
}

impl Reply {
    /// As a line.
    pub(super) fn line(self) -> Vec<u8> {
        let answer = ReplyLine { tandem: VERSION, said: self };
        // What cannot be written is a mistake of ours, and told as an empty line.
        let mut line = serde_json::to_vec(&answer).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// That nothing is told.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::Refused { why: why.into() }
    }
}
