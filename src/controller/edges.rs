//! The process of the edges, through which members reach brokers. The controller starts it under
//! the guard, and orders it to open, break and heal connections.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::log_file::LogFile;
use super::{Process, ProcessError, Recorder};
use crate::edge::{Answer, EdgeCommand, Rule};
use crate::guard::Guard;
use crate::ids::{ClusterName, FaultId, Life, MemberId};
use crate::kafka::{Cluster, KafkaError};
use crate::observation::RunEvent;
use crate::secured::towards_brokers;
use crate::time::Mono;
use crate::topology::Plan;

/// How long an answer may take; an order takes milliseconds.
const ANSWER: Duration = Duration::from_secs(5);
/// How long the process has to end.
const FAREWELL: Duration = Duration::from_secs(1);

/// The process of the edges.
pub struct Edges {
    process: Arc<Process>,
    shared: Arc<Shared>,
    bootstraps: BTreeMap<MemberId, String>,
    watches: JoinSet<()>,
    stop: CancellationToken,
    lost: CancellationToken,
}

/// The state shared with the task that reads its answers.
struct Shared {
    record: Arc<Recorder>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The callers that wait for an answer, in the order in which they wrote their orders.
    waiting: VecDeque<oneshot::Sender<Answer>>,
    /// The victims of each fault that have not reached a broker since.
    victims: BTreeMap<FaultId, Vec<Life>>,
    /// The process has closed its output: no more answers come.
    closed: bool,
}

/// An edge did not carry out an order.
#[derive(Debug, thiserror::Error)]
pub enum EdgesError {
    /// The process cannot be started.
    #[error("the process of the edges cannot be started")]
    Start(#[source] ProcessError),
    /// The process has ended.
    #[error("the process of the edges is gone; see its log")]
    Gone,
    /// The process does not answer.
    #[error("the process of the edges did not answer within {0:?}; see its log")]
    Silent(Duration),
    /// The TLS settings of a cluster cannot be read.
    #[error(transparent)]
    Kafka(KafkaError),
    /// The process refuses the order.
    #[error("the edge refused: {0}")]
    Refused(String),
}

impl Edges {
    /// Starts the process, and opens the edges of every member. `seen` says how members connect to
    /// a cluster without edges.
    ///
    /// # Errors
    /// The process does not start, or does not open an edge.
    pub async fn start(
        plan: &Plan,
        seen: impl Fn(&ClusterName) -> Cluster,
        program: &Path,
        logs: &Path,
        guard: &Guard,
        record: &Arc<Recorder>,
    ) -> Result<Self, EdgesError> {
        let log = LogFile::at(logs.join("edges.log"));
        let (process, stdout) = Process::start(program, &["edge".to_owned()], &log, guard)
            .map_err(EdgesError::Start)?;
        record.note(None, RunEvent::EdgesStarted { pid: process.pid() });
        let record = Arc::clone(record);
        let mut edges = Self {
            process: Arc::new(process),
            shared: Arc::new(Shared { record, inner: Mutex::default() }),
            bootstraps: BTreeMap::new(),
            watches: JoinSet::new(),
            stop: CancellationToken::new(),
            lost: CancellationToken::new(),
        };
        edges.watch(stdout);
        for group in plan.groups.values().filter(|group| plan.is_on_kafka(group)) {
            for member in &group.members {
                let (client, cluster) = (member.clone(), group.cluster.clone());
                let seen = seen(&cluster);
                let tls = towards_brokers(&seen).map_err(EdgesError::Kafka)?;
                let open = EdgeCommand::Open { client, cluster, bootstrap: seen.bootstrap, tls };
                let opened = edges.send(&open).await?;
                let Answer::Opened { bootstrap } = opened else { return Err(odd(&opened)) };
                edges.bootstraps.insert(member.clone(), bootstrap);
            }
        }
        Ok(edges)
    }

    fn watch(&mut self, stdout: ChildStdout) {
        let (process, shared) = (Arc::clone(&self.process), Arc::clone(&self.shared));
        let (stop, lost) = (self.stop.clone(), self.lost.clone());
        self.watches.spawn(async move {
            shared.read_answers(stdout).await;
            process.ended().await;
            if !stop.is_cancelled() {
                tracing::error!("The process of the edges died.");
                shared.record.note(None, RunEvent::EdgesDied);
                lost.cancel();
            }
        });
    }

    /// The bootstrap address for a member.
    #[must_use]
    pub fn bootstrap(&self, member: &MemberId) -> Option<&String> {
        self.bootstraps.get(member)
    }

    /// Puts a rule in force. Returns since when it is.
    ///
    /// # Errors
    /// The rule may or may not be in force: heal the fault.
    pub async fn enforce(
        &self,
        fault: &FaultId,
        rule: Rule,
        victims: Vec<Life>,
    ) -> Result<Mono, EdgesError> {
        self.shared.inner().victims.entry(fault.clone()).or_default().extend(victims);
        let answer = self.send(&EdgeCommand::Break { fault: fault.clone(), rule }).await?;
        let Answer::InForce { t } = answer else { return Err(odd(&answer)) };
        Ok(t)
    }

    /// Lifts all rules of a fault. Returns since when none is in force.
    ///
    /// # Errors
    /// Rules may still be in force.
    pub async fn heal(&self, fault: &FaultId) -> Result<Mono, EdgesError> {
        let answer = self.send(&EdgeCommand::Heal { fault: fault.clone() }).await?;
        let Answer::Healed { t } = answer else { return Err(odd(&answer)) };
        Ok(t)
    }

    /// Sends an order, and waits for its answer.
    async fn send(&self, order: &EdgeCommand) -> Result<Answer, EdgesError> {
        let line = serde_json::to_string(order).unwrap_or_default();
        let (sender, answer) = oneshot::channel();
        {
            // Under one lock, so that callers wait in the order in which their orders are written.
            let mut inner = self.shared.inner();
            if inner.closed {
                return Err(EdgesError::Gone);
            }
            self.process.order(&line).map_err(|_| EdgesError::Gone)?;
            inner.waiting.push_back(sender);
        }
        match tokio::time::timeout(ANSWER, answer).await {
            Ok(Ok(Answer::Refused { why })) => Err(EdgesError::Refused(why)),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(EdgesError::Gone),
            Err(_) => Err(EdgesError::Silent(ANSWER)),
        }
    }

    /// Cancelled when the process dies unexpectedly.
    #[must_use]
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Ends the process: closes its input, waits, and kills it if it remains.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // It ends with its input; it ignores signals such as SIGTERM.
        self.process.hang_up();
        for _ in 0..2 {
            let all = async { while self.watches.join_next().await.is_some() {} };
            if tokio::time::timeout(FAREWELL, all).await.is_ok() {
                return;
            }
            self.process.signal(Signal::KILL).ok();
        }
    }
}

fn odd(answer: &Answer) -> EdgesError {
    EdgesError::Refused(format!("it answered {answer:?}"))
}

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes each answer to the caller that waits for it, until the output closes.
    async fn read_answers(&self, stdout: ChildStdout) {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match serde_json::from_str(&line) {
                Ok(Answer::Passed { fault, client, broker, t }) => {
                    self.passed(&fault, &client, broker, t);
                }
                Ok(answer) => {
                    // If the caller has given up, its answer is dropped.
                    let first = self.inner().waiting.pop_front();
                    drop(first.map(|waiting| waiting.send(answer)));
                }
                Err(error) => {
                    tracing::warn!(%error, line, "The edges sent a line that is not an answer.");
                }
            }
        }
        let mut inner = self.inner();
        inner.closed = true;
        inner.waiting.clear();
    }

    /// Records that a member reached a broker again: once per fault, although other brokers answer
    /// the member as well.
    fn passed(&self, fault: &FaultId, client: &MemberId, broker: String, t: Mono) {
        let life = {
            let mut inner = self.inner();
            let Some(victims) = inner.victims.get_mut(fault) else { return };
            let Some(at) = victims.iter().position(|life| life.member == *client) else { return };
            victims.swap_remove(at)
        };
        let fault = fault.clone();
        self.record.note_at(t, Some(&life), RunEvent::Reconnected { fault, broker });
    }
}
