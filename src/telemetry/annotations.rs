//! Sends fault windows to Grafana as annotations (`POST /api/annotations`), so that a dashboard
//! shows each fault next to its effects.
//!
//! One thread sends. Only [`finish`](Annotations::finish) waits for it, with a bound. Annotations
//! that Grafana did not take are counted. The token is never shown.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use reqwest::blocking::Client;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;

use super::RunContext;
use super::deadline::Deadline;
use super::fault_windows::{Annotation, annotation};
use super::tls::{Trust, TrustError};
use crate::fold::{Fold, Heard};
use crate::live::Event;

/// How many annotations may wait.
const WAITING_MAX: usize = 256;
/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The most attempts to send one annotation.
const TRIES: u32 = 3;
/// How long to wait before the next try.
const PAUSE: Duration = Duration::from_millis(250);

/// Why annotations cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum AnnotationsError {
    /// The address is not a URL.
    #[error("{0:?} is not an address of Grafana: write one like http://127.0.0.1:3000")]
    Address(String),
    /// The token cannot stand in a header.
    #[error("the token for Grafana has characters that a header cannot hold")]
    Token,
    /// Certificates cannot be loaded.
    #[error("Grafana's certificate cannot be verified")]
    Trust(#[from] TrustError),
    /// The client cannot be built.
    #[error("the HTTP client cannot be built")]
    Client(#[source] reqwest::Error),
    /// The system refuses a thread.
    #[error("cannot start a thread for annotations")]
    Thread(#[source] io::Error),
}

/// The Grafana server that annotations go to.
#[derive(Clone)]
pub struct Grafana {
    url: Url,
    near: bool,
    headers: HeaderMap,
}

impl Grafana {
    /// The server at `address`, used with `token` if there is one.
    ///
    /// # Errors
    /// The address or the token is invalid.
    pub fn at(address: &str, token: Option<&str>) -> Result<Self, AnnotationsError> {
        let none =
            || AnnotationsError::Address(address.split('@').next_back().unwrap_or("").into());
        let mut url = Url::parse(address).map_err(|_| none())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(none());
        }
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/api/annotations"));
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let mut value = value.map_err(|_| AnnotationsError::Token)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let address = host.parse::<std::net::IpAddr>();
        let near = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        Ok(Self { near, url, headers })
    }

    fn client(self) -> Result<(Client, Url), AnnotationsError> {
        let mut client = Client::builder().default_headers(self.headers).redirect(Policy::none());
        // The client needs a TLS configuration even for plain HTTP.
        client = client.tls_backend_preconfigured(Trust::default().http()?);
        if self.near {
            client = client.no_proxy();
        }
        Ok((client.build().map_err(AnnotationsError::Client)?, self.url))
    }
}

/// How many annotations were sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Noted {
    /// How many there were.
    pub all: u64,
    /// How many Grafana accepted.
    pub taken: u64,
    /// The first error.
    pub why: Option<String>,
}

impl Noted {
    /// How many it did not accept.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.all.saturating_sub(self.taken)
    }

    fn lose(&mut self, why: String) {
        self.why.get_or_insert(why);
    }
}

type Tally = Arc<Mutex<Noted>>;

fn update(tally: &Tally, change: impl FnOnce(&mut Noted)) {
    change(&mut tally.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Annotations of one run.
pub struct Annotations {
    follower: Follower,
    done: Receiver<()>,
    deadline: Deadline,
    tally: Tally,
}

/// Follows a run.
#[derive(Clone)]
pub struct Follower {
    send: SyncSender<Annotation>,
    context: RunContext,
    tally: Tally,
}

impl Annotations {
    /// Starts the sending thread.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(grafana: Grafana, context: &RunContext) -> Result<Self, AnnotationsError> {
        let (send, waiting) = sync_channel::<Annotation>(WAITING_MAX);
        let (finished, done) = sync_channel(1);
        let (deadline, tally) = (Deadline::never(), Tally::default());
        let (until, kept) = (deadline.clone(), Arc::clone(&tally));
        let thread = std::thread::Builder::new().name("annotations".to_owned());
        // The client blocks, so it is created and dropped on this thread.
        let thread = thread.spawn(move || {
            let client = grafana.client();
            for annotation in waiting {
                let sent = match &client {
                    Ok((client, url)) => post(client, url, &annotation, &until),
                    Err(error) => Err(crate::error::chain(error)),
                };
                update(&kept, |noted| match sent {
                    Ok(()) => noted.taken = noted.taken.saturating_add(1),
                    Err(why) => noted.lose(why),
                });
            }
            // The receiver is gone if `finish` has given up waiting.
            finished.send(()).ok();
        });
        thread.map_err(AnnotationsError::Thread)?;
        let follower = Follower { send, context: context.clone(), tally: Arc::clone(&tally) };
        Ok(Self { follower, done, deadline, tally })
    }

    /// Returns a follower of a run's facts.
    #[must_use]
    pub fn follower(&self) -> Follower {
        self.follower.clone()
    }

    /// Waits until all annotations are sent, for at most `within`. Returns how many were.
    #[must_use]
    pub fn finish(self, within: Duration) -> Noted {
        let Self { follower, done, deadline, tally } = self;
        deadline.set(within);
        drop(follower);
        match done.recv_timeout(within) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => update(&tally, |noted| {
                noted.lose("Grafana did not accept everything in time".to_owned());
            }),
            Err(RecvTimeoutError::Disconnected) => update(&tally, |noted| {
                noted.lose("the thread that sends annotations has failed".to_owned());
            }),
        }
        tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Follower {
    /// Follows the fault windows of `fold`, until the run's last fact.
    pub fn follow(self, fold: &Fold) {
        let Self { send, context, tally } = self;
        fold.listen(Box::new(move |_, heard| {
            let Heard::Event(Event::FaultOver { fault, window, until }) = heard else { return };
            let annotation = annotation(&context, (fault, window), *until);
            update(&tally, |noted| noted.all = noted.all.saturating_add(1));
            if send.try_send(annotation).is_err() {
                update(&tally, |noted| {
                    noted.lose(format!(
                        "more than {WAITING_MAX} annotations were waiting to be sent"
                    ));
                });
            }
        }));
    }
}

fn post(
    client: &Client,
    url: &Url,
    annotation: &Annotation,
    deadline: &Deadline,
) -> Result<(), String> {
    let mut last = "there was no time left".to_owned();
    for _ in 0..TRIES {
        let within = TIMEOUT.min(deadline.left());
        if within.is_zero() {
            break;
        }
        match client.post(url.clone()).timeout(within).json(annotation).send() {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => {
                last = format!("Grafana answered {}", answer.status());
                if answer.status().is_client_error() {
                    break;
                }
            }
            Err(error) => last = crate::error::chain(&error.without_url()),
        }
        std::thread::sleep(PAUSE.min(deadline.left()));
    }
    Err(last)
}
