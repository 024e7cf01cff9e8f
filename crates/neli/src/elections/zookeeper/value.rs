//! The inputs and outputs of the core, as values.

use std::time::Duration;

use tandem_facts::ids::PartitionId;

/// The digits of a sequence number.
const DIGITS: usize = 10;

/// A session, as ZooKeeper numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(pub i64);

impl SessionId {
    /// What the names of this session's nodes begin with, before the sequence number: as other
    /// clients write it, `<id>__lock__`.
    #[must_use]
    pub fn prefix(self) -> String {
        format!("{:016x}__lock__", self.0)
    }
}

/// A transaction of ZooKeeper; each has a greater number than those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zxid(pub i64);

/// A sequential node below a partition; the lowest leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    sequence: u32,
    name: String,
}

impl Node {
    /// Reads the name of a node; none if it ends in no sequence number, and so does not contend.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let digits = name.get(name.len().checked_sub(DIGITS)?..)?;
        let all = digits.bytes().all(|byte| byte.is_ascii_digit());
        let sequence = digits.parse().ok().filter(|_| all)?;
        Some(Self { sequence, name: name.to_owned() })
    }

    /// Whether this session created it.
    #[must_use]
    pub fn is_of(&self, session: SessionId) -> bool {
        self.name.starts_with(&session.prefix())
    }

    /// Its name, below its partition.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A request to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Open a session of this length, and create an ephemeral node for the member.
    Open(Duration),
    /// Write to the member's node: a quorum must accept it.
    Renew,
    /// List the nodes of the partition.
    List(PartitionId),
    /// Create an ephemeral sequential node of the partition.
    Create(PartitionId),
    /// Say whether a node of the partition exists, and watch it, in place of any earlier watch of
    /// the partition.
    Watch(PartitionId, Node),
    /// Delete a node of the partition.
    Delete(PartitionId, Node),
    /// Close the session, and so delete its nodes.
    Close,
}

/// The answer to a request. Each gets exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The session is open, and is so long.
    Opened(SessionId, Duration),
    /// The write is accepted.
    Renewed,
    /// The nodes of the partition.
    Nodes(Vec<Node>),
    /// The node is created.
    Created,
    /// The node exists since this transaction, and is watched.
    Exists(Zxid),
    /// There is no such node.
    Absent,
    /// The node is deleted, or was.
    Deleted,
    /// The session is closed.
    Closed,
    /// The session is over, or the member's node is gone.
    NoSession,
    /// No answer in time, or a refusal. The request may have been carried out.
    Failed,
}

/// What a watch reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// The node was deleted.
    Deleted,
    /// The watch ended; a deletion may be missed.
    Ended,
}
