//! A letter: the record by which facts of one life travel. Each says itself whose facts it has, so
//! that a reader understands any of them alone.
//!
//! The first line is the head, each other line is one fact, as the member wrote it.

use serde::{Deserialize, Serialize};

use super::Standing;
use crate::ids::{GroupName, Life};
use crate::observation::{ClockDomain, Fact};
use crate::time::{Mono, Wall};

/// The version of the format.
const VERSION: u32 = 1;

/// Whose facts these are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The group.
    pub group: GroupName,
    /// The life. Its member bears the name of the group before its own: `p1-a`.
    pub life: Life,
    /// The process.
    pub pid: u32,
    /// When the process began to write facts.
    #[serde(rename = "began_ns")]
    pub began: Mono,
    /// The clock of all instants in the letter.
    pub clock: ClockDomain,
}

/// What an acknowledged record says of two clocks: the broker appended it between two instants of
/// the clock of its author, and its own clock showed the stamp then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The node id of the broker.
    pub broker: i32,
    /// Before this instant nothing was sent.
    #[serde(rename = "sent_ns")]
    pub sent: Mono,
    /// At this instant the acknowledgement was there.
    #[serde(rename = "acked_ns")]
    pub acked: Mono,
    /// The clock of the broker, in whole milliseconds.
    #[serde(rename = "stamp_ms")]
    pub stamp: Wall,
}

/// A record of the facts topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// Whose facts these are.
    pub origin: Origin,
    /// When the member's process was seen to be gone.
    pub died: Option<Mono>,
    /// What its witness has made of orders, where that is new.
    pub orders: Option<Box<Standing>>,
    /// How the clock of all instants compared last with that of the broker to which letters go.
    pub reading: Option<Reading>,
    /// The facts, in the order of `seq`.
    pub facts: Vec<Fact>,
}

/// A record that is no letter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LetterError {
    /// A line cannot be read.
    #[error("line {line} of a record cannot be read: {why}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// Another version wrote it.
    #[error("a record has version {0} of the format; this program knows version {VERSION}")]
    Version(u32),
    /// A fact is not the member's own.
    #[error("a record of {0} has a fact that {0} cannot have written")]
    Stranger(Life),
}

#[derive(Serialize, Deserialize)]
struct Head {
    facts: u32,
    #[serde(flatten)]
    origin: Origin,
    #[serde(rename = "died_ns", default, skip_serializing_if = "Option::is_none")]
    died: Option<Mono>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    orders: Option<Box<Standing>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reading: Option<Reading>,
}

impl Letter {
    /// A record with these lines, each a fact and its line break.
    #[must_use]
    pub fn write(
        origin: &Origin,
        died: Option<Mono>,
        orders: Option<&Standing>,
        reading: Option<Reading>,
        lines: &[u8],
    ) -> Vec<u8> {
        let orders = orders.cloned().map(Box::new);
        let head = Head { facts: VERSION, origin: origin.clone(), died, orders, reading };
        let mut record = serde_json::to_vec(&head).unwrap_or_default();
        record.push(b'\n');
        record.extend_from_slice(lines);
        record
    }

    /// Reads a record.
    ///
    /// # Errors
    /// It is no letter, or has facts that its author cannot know.
    pub fn read(record: &[u8]) -> Result<Self, LetterError> {
        let mut lines =
            record.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).zip(1..);
        let refused = |line, error: serde_json::Error| {
            let why = error.to_string();
            LetterError::Line { line, why }
        };
        let (head, _) = lines.next().unwrap_or((b"", 1));
        let head: Head = serde_json::from_slice(head).map_err(|error| refused(1, error))?;
        if head.facts != VERSION {
            return Err(LetterError::Version(head.facts));
        }
        let mut facts = Vec::new();
        for (line, number) in lines {
            let fact: Fact =
                serde_json::from_slice(line).map_err(|error| refused(number, error))?;
            if fact.life.as_ref() != Some(&head.origin.life) || !fact.what.is_by_member() {
                return Err(LetterError::Stranger(head.origin.life));
            }
            facts.push(fact);
        }
        let Head { origin, died, orders, reading, .. } = head;
        Ok(Self { origin, died, orders, reading, facts })
    }

    /// The instant of the latest that it says; the earliest of all instants where its clock is not
    /// that of `here`.
    #[must_use]
    pub fn stamp(&self, here: &ClockDomain) -> Mono {
        if self.origin.clock != *here {
            return Mono::ZERO;
        }
        let last = self.facts.last().map(|fact| fact.t);
        last.into_iter().chain(self.died).max().unwrap_or(self.origin.began)
    }

    /// The key of its record: all letters of a member are on one partition, in order.
    #[must_use]
    pub fn key(origin: &Origin) -> String {
        format!("{}/{}", origin.group, origin.life.member)
    }
}
