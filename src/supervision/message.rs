//! The lines between a supervisor and `tandem up`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ChangeOrder, Order, TrialEnd, Underway};
use crate::ids::{ClusterName, GroupName, MemberId, TrialNumber};
use crate::journal::{Header, Written};
use crate::observation::{Fact, Outcome};
use crate::telemetry::Operation;
use crate::time::Mono;

/// The version of the protocol. A supervisor refuses any other.
pub const VERSION: u32 = 1;
/// The longest line, in bytes; the plan of ten thousand roles has half of it.
pub const MESSAGE_MAX: usize = 8 << 20;

/// A request, one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The version of the protocol.
    pub tandem: u32,
    /// What is requested.
    pub wish: Wish,
}

/// What a client can request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// Only the first message.
    About,
    /// All messages.
    Watch {
        /// The process that watches.
        pid: u32,
        /// The others that watch must end.
        replace: bool,
    },
    /// To carry out an experiment. Lines of the client follow, each an [`Asked`](super::Asked).
    Experiment(Box<Order>),
    /// To heal and end the experiment that is under way.
    Halt,
    /// To change the topology that is up.
    Change(Box<ChangeOrder>),
}

/// What a supervisor says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The header of its journal: the plan, and when it began.
    pub header: Header,
    /// The folder with its journal and logs.
    pub folder: PathBuf,
    /// Its process id.
    pub pid: u32,
    /// How far it is.
    pub phase: Phase,
    /// The processes that watch it. The one that has started it is one of them from the start.
    pub watched_by: Vec<u32>,
    /// When it ends by itself, if it does.
    pub ends: Option<Mono>,
    /// The addresses of its embedded brokers.
    pub brokers: BTreeMap<ClusterName, String>,
    /// The experiment that it carries out.
    #[serde(default)]
    pub experiment: Option<Underway>,
    /// The living members that it did not start, and which experiments may hit.
    #[serde(default)]
    pub outside: BTreeMap<GroupName, Vec<MemberId>>,
}

/// How far a supervisor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Brokers and topics are not all there yet.
    Starting,
    /// Members are started, and restarted.
    Up,
    /// It ends what it has started, and then itself.
    Stopping,
}

/// One line of a supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The first line.
    About(Box<About>),
    /// A fact, in the order of the journal.
    Fact(Fact),
    /// All facts before this line were recorded before the client connected.
    Caught,
    /// It is this time, and all facts so far were sent. Follows each 20 ms.
    Time(Mono),
    /// The state of the journal, when it changes.
    Journal(Written),
    /// A line of its log.
    Log(String),
    /// What it did, for traces; each is sent once, to one client.
    Operation(Box<Operation>),
    /// Members leave, and brokers end.
    Stopping,
    /// So many facts are missed, because the client read too slowly, or the journal lacks them.
    Missed(u64),
    /// The experiment that was ordered is accepted. Its first trial has the number after this one,
    /// in all facts: so no number occurs twice in the journal.
    Accepted {
        /// That number.
        after: TrialNumber,
    },
    /// How a trial of the experiment ended.
    Trial {
        /// Its number, as the client asked for it.
        trial: TrialNumber,
        /// How it ended.
        end: TrialEnd,
    },
    /// The experiment is healed, and ended for this reason; facts go on.
    Halted {
        /// How it ended.
        how: Outcome,
        /// The reason.
        why: String,
    },
    /// Since then the topology is another one.
    Changed {
        /// Since when.
        at: Mono,
        /// The header of the journal from then on.
        header: Box<Header>,
    },
    /// A step of the change that was ordered.
    Step(String),
    /// The last line: the change that was ordered is done, or why it is not.
    Applied {
        /// The reason, if it is not done. To order it again goes on with it.
        failed: Option<String>,
    },
    /// The last line: another process watches in the place of this client.
    Replaced {
        /// That process.
        by: u32,
    },
    /// The last line: nothing runs any more.
    Ended {
        /// How it ended.
        how: Outcome,
        /// The reason, if there is one to report.
        why: Option<String>,
    },
    /// The last line: the request is refused.
    Refused(String),
}

/// One line of a supervisor's standard output, which ends with its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// A line of its log.
    Log(String),
    /// The last line: brokers and topics are there, and members start.
    Ready,
    /// The last line: it could not start.
    Failed {
        /// Whether it was asked to end.
        interrupted: bool,
        /// The reason.
        why: String,
    },
}

impl Message {
    /// The message as a line.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }
}

impl Start {
    /// The message as a line.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }
}

fn line(message: &impl Serialize) -> Vec<u8> {
    // A message that JSON cannot express is a bug; the reader gets an empty line.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}
