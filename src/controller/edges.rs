//! The process of the edges, through which members reach brokers: started under the guard, told
//! what to open, break and heal.

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
use super::secured::towards_brokers;
use super::{Process, ProcessError, Record};
use crate::edge::{Answer, EdgeCommand, Rule};
use crate::guard::Guard;
use crate::ids::{ClusterName, FaultId, Life, MemberId};
use crate::kafka::{Cluster, KafkaError};
use crate::observation::What;
use crate::time::Mono;
use crate::topology::Plan;

/// An order is followed within milliseconds, on a busy host too.
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

/// What is said to it, and what it says.
struct Shared {
    record: Arc<Record>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Who waits for an answer, in the order of their orders.
    waiting: VecDeque<oneshot::Sender<Answer>>,
    /// Whom each fault has hit, for what is heard of it afterwards.
    victims: BTreeMap<FaultId, Vec<Life>>,
    /// Nothing more is to be heard.
    deaf: bool,
}

/// Why an edge does not do what it was told to.
#[derive(Debug, thiserror::Error)]
pub enum EdgesError {
    /// No process.
    #[error("the process of the edges cannot be started")]
    Start(#[source] ProcessError),
    /// It is gone.
    #[error("the process of the edges is gone; see its log")]
    Gone,
    /// It does not answer.
    #[error("the process of the edges did not answer within {0:?}; see its log")]
    Silent(Duration),
    /// What it needs to know of a cluster cannot be had.
    #[error(transparent)]
    Kafka(KafkaError),
    /// It answers that it cannot.
    #[error("the edge refused: {0}")]
    Refused(String),
}

impl Edges {
    /// Starts the process, and opens the edges of every member; `seen` says how members would reach
    /// a cluster without.
    ///
    /// # Errors
    /// It does not start, or does not open an edge.
    pub async fn start(
        plan: &Plan,
        seen: impl Fn(&ClusterName) -> Cluster,
        program: &Path,
        logs: &Path,
        guard: &Guard,
        record: &Arc<Record>,
    ) -> Result<Self, EdgesError> {
        let log = LogFile::at(logs.join("edges.log"));
        let (process, stdout) = Process::start(program, &["edge".to_owned()], &log, guard)
            .map_err(EdgesError::Start)?;
        record.note(None, What::EdgesStarted { pid: process.pid() });
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
        for group in plan.groups.values() {
            for member in &group.members {
                let (client, cluster) = (member.clone(), group.cluster.clone());
                let seen = seen(&cluster);
                let tls = towards_brokers(&seen).map_err(EdgesError::Kafka)?;
                let open = EdgeCommand::Open { client, cluster, bootstrap: seen.bootstrap, tls };
                let opened = edges.tell(&open).await?;
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
            shared.hear(stdout).await;
            process.ended().await;
            if !stop.is_cancelled() {
                tracing::error!("The process of the edges died.");
                shared.record.note(None, What::EdgesDied);
                lost.cancel();
            }
        });
    }

    /// What a member is to be given as its bootstrap.
    #[must_use]
    pub fn bootstrap(&self, member: &MemberId) -> Option<&String> {
        self.bootstraps.get(member)
    }

    /// Puts a rule in force; since when it is.
    ///
    /// # Errors
    /// It is not known to be in force: heal it.
    pub async fn enforce(
        &self,
        fault: &FaultId,
        rule: Rule,
        victims: Vec<Life>,
    ) -> Result<Mono, EdgesError> {
        self.shared.inner().victims.entry(fault.clone()).or_default().extend(victims);
        let answer = self.tell(&EdgeCommand::Break { fault: fault.clone(), rule }).await?;
        let Answer::InForce { t } = answer else { return Err(odd(&answer)) };
        Ok(t)
    }

    /// Lifts all that a fault has put in force; since when nothing is.
    ///
    /// # Errors
    /// It is not known to be lifted.
    pub async fn heal(&self, fault: &FaultId) -> Result<Mono, EdgesError> {
        let answer = self.tell(&EdgeCommand::Heal { fault: fault.clone() }).await?;
        let Answer::Healed { t } = answer else { return Err(odd(&answer)) };
        Ok(t)
    }

    async fn tell(&self, command: &EdgeCommand) -> Result<Answer, EdgesError> {
        let line = serde_json::to_string(command).unwrap_or_default();
        let (tell, told) = oneshot::channel();
        {
            // Under one lock, so that whoever waits first was written first.
            let mut inner = self.shared.inner();
            if inner.deaf {
                return Err(EdgesError::Gone);
            }
            self.process.order(&line).map_err(|_| EdgesError::Gone)?;
            inner.waiting.push_back(tell);
        }
        match tokio::time::timeout(ANSWER, told).await {
            Ok(Ok(Answer::Refused { why })) => Err(EdgesError::Refused(why)),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(EdgesError::Gone),
            Err(_) => Err(EdgesError::Silent(ANSWER)),
        }
    }

    /// Cancelled when it died unasked.
    #[must_use]
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Ends it: asks, waits, kills.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // It lives as long as its input does, and no signal that can be ignored ends it.
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

    /// Hands every answer to who waits for it, until there are no more.
    async fn hear(&self, stdout: ChildStdout) {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match serde_json::from_str(&line) {
                Ok(Answer::Passed { fault, client, broker, t }) => {
                    self.passed(&fault, &client, broker, t);
                }
                Ok(answer) => {
                    // Who has given up waiting hears nothing, and keeps nobody else from hearing.
                    let first = self.inner().waiting.pop_front();
                    drop(first.map(|waiting| waiting.send(answer)));
                }
                Err(error) => tracing::warn!(%error, line, "This is no answer of an edge."),
            }
        }
        let mut inner = self.inner();
        inner.deaf = true;
        inner.waiting.clear();
    }

    /// A member was reached again: told once a fault, for other brokers answer it as well.
    fn passed(&self, fault: &FaultId, client: &MemberId, broker: String, t: Mono) {
        let life = {
            let mut inner = self.inner();
            let Some(victims) = inner.victims.get_mut(fault) else { return };
            let Some(at) = victims.iter().position(|life| life.member == *client) else { return };
            victims.swap_remove(at)
        };
        let fault = fault.clone();
        self.record.note_at(t, Some(&life), What::Reconnected { fault, broker });
    }
}
