//! Carries the requests of a member to etcd, each on a task of its own, and what comes back to the
//! member's thread.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{AbortHandle, JoinSet};

use super::wire::Keys;
use super::{EtcdConfig, Input};
use crate::error::chain;
use crate::neli::elections::etcd::{Answer, Request, Watched};
use crate::telemetry::no_tls;

/// The longest line of a watch.
const LINE_MAX: usize = 1 << 20;

/// Why the client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The system refuses a thread.
    #[error("the member cannot start its thread")]
    Thread(#[source] std::io::Error),
}

/// A connection to the store.
pub(super) struct Store {
    client: Client,
    base: String,
    keys: Keys,
    within: Duration,
    inputs: SyncSender<Input>,
    tasks: JoinSet<()>,
    watch: Option<AbortHandle>,
    runtime: Runtime,
}

impl Store {
    pub(super) fn new(config: &EtcdConfig, inputs: SyncSender<Input>) -> Result<Self, StoreError> {
        let client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            // A watch whose connection is dead must end: it is silent by nature.
            .tcp_keepalive(config.keep_alive.max(Duration::from_secs(1)))
            .tcp_user_timeout(config.lease)
            .tls_backend_preconfigured(no_tls().map_err(|error| StoreError::Client(error.into()))?)
            .build()
            .map_err(|error| StoreError::Client(error.into()))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("etcd")
            .enable_all()
            .build()
            .map_err(StoreError::Thread)?;
        Ok(Self {
            client,
            base: format!("{}/v3", config.etcd.trim_end_matches('/')),
            keys: Keys::new(&config.prefix, config.life.to_string()),
            within: config.lease,
            inputs,
            tasks: JoinSet::new(),
            watch: None,
            runtime,
        })
    }

    /// Sends a request, and returns at once. A new watch replaces the one before.
    pub(super) fn send(&mut self, number: u64, request: Request) {
        while self.tasks.try_join_next().is_some() {}
        let (path, body) = self.keys.post(request);
        let post = self.client.post(format!("{}/{path}", self.base)).json(&body);
        let (keys, inputs) = (self.keys.clone(), self.inputs.clone());
        let handle = self.runtime.handle();
        if matches!(request, Request::Watch(_)) {
            let watch = async move {
                if let Ok(response) = post.send().await {
                    follow(response, &keys, number, &inputs).await;
                }
                inputs.send(Input::Watched(number, Watched::Ended)).ok();
            };
            let new = self.tasks.spawn_on(watch, handle);
            if let Some(old) = self.watch.replace(new) {
                old.abort();
            }
            return;
        }
        // What is answered later than a lease lasts is of no use.
        let post = post.timeout(self.within);
        let ask = async move {
            let body = async { post.send().await?.json::<Value>().await };
            let (answer, why) = match body.await {
                Ok(body) => (keys.answer(request, &body), refusal(&body)),
                Err(error) => (Answer::Failed, Some(chain(&error.without_url()))),
            };
            inputs.send(Input::Answer(number, answer, why)).ok();
        };
        self.tasks.spawn_on(ask, handle);
    }
}

/// What the store says about a request that it refused.
fn refusal(body: &Value) -> Option<String> {
    body.get("error").map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned))
}

/// Passes the lines of a watch on, until it ends.
async fn follow(mut response: Response, keys: &Keys, number: u64, inputs: &SyncSender<Input>) {
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
