//! The edge of a member that takes the orders of experiments: it stands, in this process, between
//! the member and its brokers, so that an order can cut these apart.
//!
//! It is of this process so that it shares the fate of the member: it stops, continues and ends
//! with it. The witness asks for a cut by a socket, and connects to brokers directly. When the
//! witness is gone, everything passes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use crate::edge::{Answer, Direction, EdgeCommand, Effect, Rule, Scope};
use crate::external::{Ask, answer_witness};
use crate::ids::{ClusterName, FaultId, MemberId, StepId, TrialNumber};
use crate::kafka::{Cluster, KafkaError};
use crate::secured::{towards_brokers, towards_edges};
use crate::time::Mono;
use crate::topology::{Plan, PlannedGroup};

/// A member has no edge, and orders cannot cut it off.
#[derive(Debug, thiserror::Error)]
pub enum NoEdge {
    /// The system refuses a pipe or a thread.
    #[error("the system refuses it")]
    System(#[from] io::Error),
    /// The TLS settings of the cluster cannot be read.
    #[error(transparent)]
    Kafka(#[from] KafkaError),
    /// The edge cannot be opened.
    #[error("{0}")]
    Refused(String),
}

/// The edge of one member to the brokers of its cluster. It ends with the process.
pub struct OwnEdge {
    commands: File,
    answers: BufReader<File>,
    rule: Rule,
    cluster: Cluster,
}

impl OwnEdge {
    /// The edge of `member`, if its group takes orders. Where it has none, the member connects to
    /// its brokers directly, and a log line says why.
    #[must_use]
    pub fn of(
        (plan, group): (&Plan, &PlannedGroup),
        member: &MemberId,
        brokers: &Cluster,
    ) -> Option<Self> {
        if !group.takes_orders() {
            return None;
        }
        let opened = match plan.beyond_edges_of(&group.cluster) {
            Some(property) => Err(NoEdge::Refused(format!("no edge supports `{property}`"))),
            None => Self::open(member, &group.cluster, brokers),
        };
        let warn = |error: &NoEdge| {
            let error = crate::error::chain(error);
            tracing::warn!(error, "No order can cut the member off from its brokers.");
        };
        opened.inspect_err(warn).ok()
    }

    /// Opens the edge of `member` to the cluster of this name.
    ///
    /// # Errors
    /// The system refuses it, or the cluster needs what no edge supports.
    fn open(member: &MemberId, name: &ClusterName, brokers: &Cluster) -> Result<Self, NoEdge> {
        let (input, commands) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let (answers, output) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let thread = std::thread::Builder::new().name("edge".to_owned());
        let _ends_with_the_process = thread.spawn(move || {
            let (input, output) = (BufReader::new(File::from(input)), File::from(output));
            if let Err(error) = crate::edge::run(input, output) {
                tracing::error!(%error, "The edge of the member has ended.");
            }
        })?;
        let rule = Rule {
            clients: [member.clone()].into(),
            scope: Scope { cluster: name.clone(), brokers: None },
            direction: Direction::Both,
            apis: None,
            effect: Effect::Drop,
        };
        let answers = BufReader::new(File::from(answers));
        let commands = File::from(commands);
        let mut edge = Self { commands, answers, rule, cluster: brokers.clone() };
        let (client, cluster) = (member.clone(), name.clone());
        let (bootstrap, tls) = (brokers.bootstrap.clone(), towards_brokers(brokers)?);
        let opened = edge.send(&EdgeCommand::Open { client, cluster, bootstrap, tls })?;
        let Answer::Opened { bootstrap } = opened else {
            return Err(NoEdge::Refused(format!("the edge answered {opened:?}")));
        };
        edge.cluster = Cluster { bootstrap, access: towards_edges(&brokers.access) };
        Ok(edge)
    }

    /// The cluster as the member reaches it.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Starts the thread that answers the witness. Returns the witness's end of the socket.
    ///
    /// # Errors
    /// The system refuses the socket or the thread.
    pub fn serve(mut self) -> io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().name("cuts".to_owned());
        let _ends_with_the_process = thread.spawn(move || {
            let answered = answer_witness(&ours, |ask| self.answer(ask));
            if let Err(error) = answered {
                tracing::warn!(%error, "The witness cannot be answered.");
            }
            if let Err(why) = self.answer(Ask::Mend) {
                tracing::error!(why, "The member may still be cut off from its brokers.");
            }
            // The edge ends when nothing can command it any more, so this thread keeps it.
            loop {
                std::thread::park();
            }
        })?;
        Ok(theirs.into())
    }

    fn answer(&mut self, ask: Ask) -> Result<Mono, String> {
        let fault = FaultId { trial: TrialNumber(1), step: ordered()? };
        let command = match ask {
            Ask::Cut => EdgeCommand::Break { fault, rule: self.rule.clone() },
            Ask::Mend => EdgeCommand::Heal { fault },
        };
        match self.send(&command).map_err(|error| error.to_string())? {
            Answer::InForce { t } | Answer::Healed { t } => Ok(t),
            odd @ (Answer::Opened { .. } | Answer::Refused { .. } | Answer::Passed { .. }) => {
                Err(format!("the edge answered {odd:?}"))
            }
        }
    }

    /// Has a command executed. Returns its answer.
    fn send(&mut self, command: &EdgeCommand) -> io::Result<Answer> {
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        self.commands.write_all(&line)?;
        loop {
            let mut line = String::new();
            self.answers.read_line(&mut line)?;
            let answer = serde_json::from_str(&line)?;
            // It says so without being asked.
            if !matches!(answer, Answer::Passed { .. }) {
                return Ok(answer);
            }
        }
    }
}

/// The name of every cut: there is one at a time.
fn ordered() -> Result<StepId, String> {
    "ordered".parse().map_err(|_| "no step has this name".to_owned())
}
