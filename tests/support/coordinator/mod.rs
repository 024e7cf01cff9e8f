//! What transcripts are made of: a subject that is asked, and the text around it.

pub mod alias;
pub mod consumer;
pub mod consumer_wire;
pub mod core;
pub mod embedded;
pub mod frames;
pub mod heard;
pub mod line;
pub mod parity;
pub mod remote;
pub mod said;
pub mod transcript;
pub mod wire;

use tandem::groups::consumer::{ConsumerHeartbeat, GroupOverrides};
use tandem::groups::{Commit, Heartbeat, Join, Leave, Sync, TopicPartition};
use tandem::time::Mono;

/// What can be asked.
#[derive(Debug, Clone)]
pub enum Request {
    Join(Join),
    Sync(Sync),
    Heartbeat(Heartbeat),
    Leave(Leave),
    Commit(Commit),
    Fetch(String, TopicPartition),
    Describe(String),
    List,
    Delete(String),
    /// ConsumerGroupHeartbeat.
    Beat(ConsumerHeartbeat),
    /// ConsumerGroupDescribe.
    Inspect(String),
    /// Settings of a group.
    Configure(String, GroupOverrides),
    /// An offset, as a member with this id and epoch asks for it.
    Recall(String, String, i32, TopicPartition),
    /// Nothing: time passes.
    Wait,
}

/// An answer, as the transcript shows it, and what the client keeps of it.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub line: String,
    pub member_id: Option<String>,
    pub generation: Option<i32>,
}

/// Something that coordinates groups: the core, or a broker behind a socket.
pub trait Subject {
    /// By which names transcripts call it, where subjects differ.
    fn names(&self) -> Vec<String>;
    /// Whether its clock is the world's: the times of `real=` are meant for it.
    fn is_real(&self) -> bool;
    /// At that time a client asks, on a connection of its own.
    fn ask(&mut self, at: Mono, client: &str, request: Request);
    /// The answers so far, in order, with their clients. An implementation with a real clock waits
    /// a while for as many lines as are expected.
    fn answers(&mut self, expected: usize) -> Vec<(String, Answer)>;
}

/// How many lines these answers have.
fn lines(answers: &[(String, Answer)]) -> usize {
    answers.iter().map(|(_, answer)| answer.line.lines().count()).sum()
}
