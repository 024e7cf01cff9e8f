//! Carries the requests of a member to ZooKeeper, each on a task of its own, and what comes back to
//! the member's thread.
//!
//! The client keeps one session over one connection after another, repeats its watches on each, and
//! pings. A request fails with its connection; one that is sent without a connection waits for the
//! next. When the last handle to the client is dropped, it closes the session.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error, EventType};

use super::ZooKeeperConfig;
use super::tunnel::Tunnel;
use crate::ids::PartitionId;
use crate::member::over_store::{self, Input, Inputs};
use crate::member::tls::Tls;
use crate::neli::elections::zookeeper::{
    Answer, Node, Request, SessionId, Watched, ZooKeeper, Zxid,
};

/// The longest wait for the end of a session that the member closes.
const CLOSE_MAX: Duration = Duration::from_secs(1);
const FOLDER: CreateOptions<'_> = CreateMode::Persistent.with_acls(Acls::anyone_all());
const OF_MEMBER: CreateOptions<'_> = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
const CONTENDER: CreateOptions<'_> = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());

/// What all tasks need: where the group's nodes are, and who the member is.
#[derive(Debug)]
struct Names {
    zookeeper: String,
    nodes: String,
    /// The data of each node that the member creates: its life, for people.
    value: String,
    width: NonZeroU32,
    session: Duration,
}

/// A session to the store.
pub(super) struct Store {
    names: Arc<Names>,
    inputs: Inputs<Store>,
    /// The session that is open.
    client: Arc<Mutex<Option<Client>>>,
    tasks: JoinSet<()>,
    watches: BTreeMap<PartitionId, AbortHandle>,
    /// The way to servers that want TLS.
    _tunnel: Option<Tunnel>,
    runtime: Runtime,
}

impl Store {
    pub(super) fn new(config: &ZooKeeperConfig, inputs: Inputs<Store>) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("zookeeper")
            .enable_all()
            .build()?;
        let tls = Tls::of(&config.properties).map_err(io::Error::other)?;
        let open = |tls: Tls| runtime.block_on(Tunnel::open(&config.zookeeper, &tls));
        let tunnel = tls.map(open).transpose()?;
        let servers = tunnel.as_ref().map_or(&config.zookeeper, |tunnel| &tunnel.addresses);
        let names = Names {
            zookeeper: servers.clone(),
            nodes: config.nodes.trim_end_matches('/').to_owned(),
            value: config.life.to_string(),
            width: config.width,
            session: config.session,
        };
        Ok(Self {
            names: Arc::new(names),
            inputs,
            client: Arc::default(),
            tasks: JoinSet::new(),
            watches: BTreeMap::new(),
            _tunnel: tunnel,
            runtime,
        })
    }
}

impl over_store::Store for Store {
    type Core = ZooKeeper;

    const NAME: &'static str = "ZooKeeper";

    /// A new watch of a partition replaces the one before.
    fn send(&mut self, number: u64, request: Request) {
        while self.tasks.try_join_next().is_some() {}
        let (names, inputs) = (Arc::clone(&self.names), self.inputs.clone());
        let slot = Arc::clone(&self.client);
        let client = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let handle = self.runtime.handle();
        match (request, client) {
            (Request::Open(_), _) => {
                let open = async move {
                    let opened = timeout(names.session, names.open()).await;
                    let (answer, why) = match opened.unwrap_or(Err(Error::Timeout)) {
                        Ok(client) => {
                            let id = SessionId(client.session_id().0);
                            let length = client.session_timeout();
                            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
                            (Answer::Opened(id, length), None)
                        }
                        Err(error) => (Answer::Failed, Some(error.to_string())),
                    };
                    inputs.send(Input::Answer(number, answer, why)).ok();
                };
                self.tasks.spawn_on(open, handle);
            }
            (Request::Close, client) => {
                // They hold the client, too.
                self.tasks.abort_all();
                self.watches.clear();
                drop(slot.lock().unwrap_or_else(PoisonError::into_inner).take());
                handle.spawn(close(client, number, inputs));
            }
            (_, None) => {
                let refuse = async move {
                    inputs.send(Input::Answer(number, Answer::NoSession, None)).ok();
                };
                self.tasks.spawn_on(refuse, handle);
            }
            (Request::Watch(partition, node), Some(client)) => {
                let watch =
                    async move { names.watch(client, number, partition, node, inputs).await };
                if let Some(old) =
                    self.watches.insert(partition, self.tasks.spawn_on(watch, handle))
                {
                    old.abort();
                }
            }
            (request, Some(client)) => {
                let ask = async move {
                    // What is answered later than a session lasts is of no use.
                    let done = timeout(names.session, names.ask(&client, &request)).await;
                    let (answer, why) = answered(done.unwrap_or(Err(Error::Timeout)));
                    inputs.send(Input::Answer(number, answer, why)).ok();
                };
                self.tasks.spawn_on(ask, handle);
            }
        }
    }

    fn reached(answer: &Answer) -> bool {
        !matches!(answer, Answer::Failed | Answer::NoSession)
    }

    fn warn_of(&self, answer: &Answer) {
        let asked = self.names.session;
        if let Answer::Opened(_, length) = answer
            && *length != asked
        {
            tracing::warn!(?length, ?asked, "ZooKeeper grants another session.");
        }
    }
}

/// Closes a session, and waits until it is closed.
async fn close(client: Option<Client>, number: u64, inputs: Inputs<Store>) {
    if let Some(client) = client {
        let mut state = client.state_watcher();
        drop(client);
        let closed = async { while !state.changed().await.is_terminated() {} };
        timeout(CLOSE_MAX, closed).await.ok();
    }
    inputs.send(Input::Answer(number, Answer::Closed, None)).ok();
}

impl Names {
    fn folder(&self, partition: PartitionId) -> String {
        format!("{}/{partition}", self.nodes)
    }

    /// The node that the member writes to.
    fn own(&self, client: &Client) -> String {
        format!("{}/members/{:016x}", self.nodes, client.session_id().0)
    }

    /// A session, with the folders of the group and the member's own node.
    async fn open(&self) -> Result<Client, Error> {
        let connector = Client::connector().with_session_timeout(self.session).with_fail_eagerly();
        let client = connector.connect(&self.zookeeper).await?;
        for partition in (0..self.width.get()).map(PartitionId) {
            client.mkdir(&self.folder(partition), &FOLDER).await?;
        }
        client.mkdir(&format!("{}/members", self.nodes), &FOLDER).await?;
        client.create(&self.own(&client), self.value.as_bytes(), &OF_MEMBER).await?;
        Ok(client)
    }

    async fn ask(&self, client: &Client, request: &Request) -> Result<Answer, Error> {
        match request {
            Request::Renew => {
                let written = client.set_data(&self.own(client), self.value.as_bytes(), None).await;
                match written {
                    Ok(_) => Ok(Answer::Renewed),
                    Err(Error::NoNode) => Ok(Answer::NoSession),
                    Err(error) => Err(error),
                }
            }
            Request::List(partition) => {
                match client.list_children(&self.folder(*partition)).await {
                    Ok(names) => Ok(Answer::Nodes(
                        names.iter().filter_map(|name| Node::parse(name)).collect(),
                    )),
                    Err(Error::NoNode) => Ok(Answer::Nodes(Vec::new())),
                    Err(error) => Err(error),
                }
            }
            Request::Create(partition) => {
                let folder = self.folder(*partition);
                let prefix = SessionId(client.session_id().0).prefix();
                let path = format!("{folder}/{prefix}");
                let created = client.create(&path, self.value.as_bytes(), &CONTENDER).await;
                if created == Err(Error::NoNode) {
                    // Someone has removed the folder: it is there when the core asks again.
                    client.mkdir(&folder, &FOLDER).await?;
                }
                created.map(|_| Answer::Created)
            }
            Request::Delete(partition, node) => {
                let path = format!("{}/{}", self.folder(*partition), node.name());
                match client.delete(&path, None).await {
                    Ok(()) | Err(Error::NoNode) => Ok(Answer::Deleted),
                    Err(error) => Err(error),
                }
            }
            // Each has a task of another kind.
            Request::Open(_) | Request::Close | Request::Watch(..) => Ok(Answer::Failed),
        }
    }

    /// Answers whether the node is there, and reports when it is no more.
    async fn watch(
        &self,
        client: Client,
        number: u64,
        partition: PartitionId,
        node: Node,
        inputs: Inputs<Store>,
    ) {
        let path = format!("{}/{}", self.folder(partition), node.name());
        let mut since = None;
        loop {
            let looked = client.check_and_watch_stat(&path).await;
            let (stat, watcher) = match (looked, since) {
                (Ok((Some(stat), watcher)), None) => (stat, watcher),
                (Ok((Some(stat), watcher)), Some(created)) if stat.czxid == created => {
                    (stat, watcher)
                }
                (Ok(_), Some(_)) => {
                    return drop(inputs.send(Input::Watched(number, Watched::Deleted)));
                }
                (Ok((None, _)), None) => {
                    return drop(inputs.send(Input::Answer(number, Answer::Absent, None)));
                }
                (Err(error), None) => {
                    let (answer, why) = answered(Err(error));
                    return drop(inputs.send(Input::Answer(number, answer, why)));
                }
                (Err(_), Some(_)) => {
                    return drop(inputs.send(Input::Watched(number, Watched::Ended)));
                }
            };
            if since.replace(stat.czxid).is_none() {
                let there = Answer::Exists(Zxid(stat.czxid));
                if inputs.send(Input::Answer(number, there, None)).is_err() {
                    return;
                }
            }
            let reported = match watcher.changed().await.event_type {
                EventType::NodeDeleted => Watched::Deleted,
                // Its data: no matter.
                EventType::NodeDataChanged | EventType::NodeCreated => continue,
                EventType::Session | EventType::NodeChildrenChanged => Watched::Ended,
            };
            return drop(inputs.send(Input::Watched(number, reported)));
        }
    }
}

/// The answer, and the reason if there is none.
fn answered(done: Result<Answer, Error>) -> (Answer, Option<String>) {
    match done {
        Ok(answer) => (answer, None),
        Err(error) => {
            let why = error.to_string();
            let over = matches!(
                error,
                Error::SessionExpired
                    | Error::SessionMoved
                    | Error::ClientClosed
                    | Error::AuthFailed
            );
            (if over { Answer::NoSession } else { Answer::Failed }, Some(why))
        }
    }
}
