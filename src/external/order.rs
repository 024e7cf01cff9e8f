//! An order of an experiment to the witness of a member, sealed with the key of the topology. Pure.
//!
//! The first line of a record is the order, the second its seal: an HMAC-SHA-256 of a prefix and
//! the first line.

use ring::hmac;
use serde::{Deserialize, Serialize};

use crate::ids::{Life, TopologyName};
use crate::time::{Mono, Wall};

/// What is sealed before the order, so that no seal of anything else fits.
const PREFIX: &[u8] = b"tandem order 1\n";
/// The longest record.
const RECORD_MAX: usize = 4 * 1024;

/// Distinguishes an order from all others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Nonce(pub String);

/// What a witness is to do to its member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// SIGKILL.
    Kill,
    /// SIGTERM, on which it leaves its group.
    Leave,
    /// SIGSTOP, for as long as [`Hold`](Self::Hold) follows each few seconds.
    Pause,
    /// The pause, or the cut, goes on.
    Hold,
    /// SIGCONT.
    Continue,
    /// The traffic between it and its brokers is lost, for as long as [`Hold`](Self::Hold) follows
    /// each few seconds.
    Cut,
    /// The traffic passes again.
    Mend,
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The topology.
    pub topology: TopologyName,
    /// The life that it is for, as its witness counts.
    pub life: Life,
    /// When the process of that life began to write facts.
    #[serde(rename = "began_ns")]
    pub began: Mono,
    /// Distinguishes it.
    pub nonce: Nonce,
    /// From then on it is refused, by the wall clock of the member's host.
    #[serde(rename = "expires_ms")]
    pub expires: Wall,
    /// What is to be done.
    pub deed: Deed,
}

/// The key that seals orders.
#[derive(Debug, Clone)]
pub struct OrderKey(hmac::Key);

impl OrderKey {
    /// A key with this secret.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
    }

    /// The record of an order.
    #[must_use]
    pub fn seal(&self, order: &Order) -> Vec<u8> {
        let mut record = serde_json::to_vec(order).unwrap_or_default();
        let seal = hmac::sign(&self.0, &sealed(&record));
        record.push(b'\n');
        record.extend(seal.as_ref().iter().flat_map(|byte| format!("{byte:02x}").into_bytes()));
        record
    }

    /// Whether this key has sealed the record.
    #[must_use]
    pub fn has_sealed(&self, record: &[u8]) -> bool {
        let mut lines = record.splitn(2, |byte| *byte == b'\n');
        let (Some(line), Some(seal)) = (lines.next(), lines.next().and_then(bytes)) else {
            return false;
        };
        hmac::verify(&self.0, &sealed(line), &seal).is_ok()
    }
}

impl Order {
    /// What a record says, sealed or not; none if it is no order.
    #[must_use]
    pub fn read(record: &[u8]) -> Option<Self> {
        let line = record.split(|byte| *byte == b'\n').next()?;
        if record.len() > RECORD_MAX {
            return None;
        }
        serde_json::from_slice(line).ok()
    }

    /// The key of its record: all orders to a member are on one partition, in order.
    #[must_use]
    pub fn key(&self) -> String {
        self.life.member.to_string()
    }
}

fn sealed(line: &[u8]) -> Vec<u8> {
    [PREFIX, line].concat()
}

/// The bytes that hexadecimal digits say.
fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}
