//! Carries the requests of a member to etcd, each on a task of its own, and what comes back to the
//! member's thread.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use super::EtcdConfig;
use super::wire::Keys;
use crate::error::chain;
use crate::member::over_store::{self, Input, Inputs};
use crate::member::tls;
use crate::neli::elections::etcd::{Answer, Etcd, Request, Watched};
use crate::telemetry::{TrustError, no_tls};

/// A server that has not answered for this part of a lease is left, if there are others.
const PATIENCE: u32 = 4;
/// The longest line of a watch.
const LINE_MAX: usize = 1 << 20;

/// Why the client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A certificate or a key cannot be used.
    #[error("TLS to etcd cannot be set up")]
    Trust(#[source] TrustError),
    /// The system refuses a thread.
    #[error("the member cannot start its thread")]
    Thread(#[source] std::io::Error),
}

/// A connection to the store.
pub(super) struct Store {
    client: Client,
    servers: Vec<String>,
    /// How often a server was left for the next.
    left: watch::Sender<usize>,
    keys: Keys,
    /// The length that the member asks for.
    lease: Duration,
    within: Duration,
    inputs: Inputs<Store>,
    tasks: JoinSet<()>,
    watch: Option<AbortHandle>,
    runtime: Runtime,
}

impl Store {
    pub(super) fn new(config: &EtcdConfig, inputs: Inputs<Store>) -> Result<Self, StoreError> {
        let client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            // A watch whose connection is dead must end: it is silent by nature.
            .tcp_keepalive(config.keep_alive.max(Duration::from_secs(1)))
            .tcp_user_timeout(config.lease)
            .tls_backend_preconfigured(trusted(config).map_err(StoreError::Trust)?)
            .build()
            .map_err(|error| StoreError::Client(error.into()))?;
        let base = |server: &str| format!("{}/v3", server.trim_end_matches('/'));
        let servers: Vec<_> = config.etcd.split(',').map(base).collect();
        // What is answered later than a lease lasts is of no use.
        let within = if servers.len() > 1 { config.lease / PATIENCE } else { config.lease };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("etcd")
            .enable_all()
            .build()
            .map_err(StoreError::Thread)?;
        Ok(Self {
            client,
            servers,
            left: watch::Sender::new(0),
            keys: Keys::new(&config.prefix, config.life.to_string()),
            lease: config.lease,
            within,
            inputs,
            tasks: JoinSet::new(),
            watch: None,
            runtime,
        })
    }
}

impl over_store::Store for Store {
    type Core = Etcd;

    const NAME: &'static str = "etcd";

    /// A new watch replaces the one before.
    fn send(&mut self, number: u64, request: Request) {
        while self.tasks.try_join_next().is_some() {}
        let (path, body) = self.keys.post(request);
        let left = *self.left.borrow();
        let Some(base) = self.servers.get(left % self.servers.len().max(1)) else { return };
        let post = self.client.post(format!("{base}/{path}")).json(&body);
        let (keys, inputs) = (self.keys.clone(), self.inputs.clone());
        let handle = self.runtime.handle();
        if matches!(request, Request::Watch(_)) {
            let mut leaves = self.left.subscribe();
            let watch = async move {
                let followed = async {
                    if let Ok(response) = post.send().await {
                        follow(response, &keys, number, &inputs).await;
                    }
                };
                tokio::select! {
                    () = followed => {}
                    // A server that is stopped ends nothing.
                    _ = leaves.wait_for(|now| *now != left) => {}
                }
                inputs.send(Input::Watched(number, Watched::Ended)).ok();
            };
            let new = self.tasks.spawn_on(watch, handle);
            if let Some(old) = self.watch.replace(new) {
                old.abort();
            }
            return;
        }
        let post = post.timeout(self.within);
        let leaves = self.left.clone();
        let ask = async move {
            let body = async { post.send().await?.json::<Value>().await };
            let (answer, why) = match body.await {
                Ok(body) => (keys.answer(request, &body), refusal(&body)),
                Err(error) => (Answer::Failed, Some(chain(&error.without_url()))),
            };
            if answer == Answer::Failed {
                // Once, also if several requests have failed.
                leaves.send_if_modified(|now| {
                    let first = *now == left;
                    *now += usize::from(first);
                    first
                });
            }
            inputs.send(Input::Answer(number, answer, why)).ok();
        };
        self.tasks.spawn_on(ask, handle);
    }

    fn reached(answer: &Answer) -> bool {
        *answer != Answer::Failed
    }

    fn warn_of(&self, answer: &Answer) {
        if let Answer::Granted(_, length) = answer
            && *length > self.lease
        {
            tracing::warn!(?length, asked = ?self.lease, "etcd grants no lease as short as asked.");
        }
    }
}

/// What the store is verified by.
fn trusted(config: &EtcdConfig) -> Result<rustls::ClientConfig, TrustError> {
    if config.etcd.starts_with("https://") { tls::config(&config.properties) } else { no_tls() }
}

/// What the store says about a request that it refused.
fn refusal(body: &Value) -> Option<String> {
    body.get("error").map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned))
}

/// Passes the lines of a watch on, until it ends.
async fn follow(mut response: Response, keys: &Keys, number: u64, inputs: &Inputs<Store>) {
    let mut waiting = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        waiting.extend_from_slice(&chunk);
        while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = waiting.drain(..=end).collect();
            let Ok(line) = serde_json::from_slice(&line) else { return };
            for watched in keys.watched(&line) {
                if watched == Watched::Ended
                    || inputs.send(Input::Watched(number, watched)).is_err()
                {
                    return;
                }
            }
        }
        if waiting.len() > LINE_MAX {
            return;
        }
    }
}
