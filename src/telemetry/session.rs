//! Telemetry of one run, from before its members start until after its verdict is told.
//!
//! Logs and live operations leave while the run goes on. Traces leave at its end: only then is
//! known who led what; of a run without an end, each window's when that is known of it. No one
//! waits for a collector but [`Session::finish`], and that for two seconds at most; what was not
//! taken by then is counted, and `tandem export` sends it again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::deadline::Deadline;
use super::export_settings::ExportSettings;
use super::post::{Post, Slot, Tally};
use super::window_feed::WindowFeed;
use super::window_traces::WindowTraces;
use super::{Live, Logbook, RunContext, Traces};
use crate::journal::Header;
use crate::observation::{Fact, What};

/// How long the exit may wait for a collector after the verdict: two seconds, less what the way out
/// takes.
pub const PATIENCE: Duration = Duration::from_millis(1_900);

/// What was sent, and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sent {
    /// What collectors took.
    pub taken: u64,
    /// What there was to send beside what the journal tells.
    pub more: u64,
    /// The first thing that went wrong.
    pub why: Option<String>,
}

/// What was heard of a run while it went on.
#[derive(Debug, Default)]
pub struct Heard {
    records: AtomicU64,
    missed: AtomicU64,
    spans: AtomicU64,
    overlooked: AtomicU64,
}

impl Heard {
    /// How many log records were handed in.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// How many spans of windows, and of the run itself, were handed in, or are owed.
    #[must_use]
    pub fn spans(&self) -> u64 {
        self.spans.load(Ordering::Relaxed)
    }

    /// How many facts came faster than windows took them.
    #[must_use]
    pub fn overlooked(&self) -> u64 {
        self.overlooked.load(Ordering::Relaxed)
    }

    pub(super) fn note(&self) {
        self.records.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn owe(&self, spans: usize) {
        self.spans.fetch_add(u64::try_from(spans).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn overlook(&self, facts: u64) {
        self.overlooked.fetch_add(facts, Ordering::Relaxed);
    }

    pub(super) fn miss(&self, facts: u64) {
        self.missed.fetch_add(facts, Ordering::Relaxed);
    }

    /// How many facts came faster than they were read; how many of them would have been told, the
    /// journal says.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

/// Sends logs of facts as they come.
#[derive(Clone)]
pub struct Listener {
    slot: Slot<LogRecord>,
    book: Logbook,
    heard: Arc<Heard>,
}

impl Listener {
    /// Begins to, on a thread of its own, until the run's last fact.
    ///
    /// # Errors
    /// The system has no thread to spare.
    pub fn hear(self, mut facts: Receiver<Arc<Fact>>) -> io::Result<()> {
        let Self { slot, mut book, heard } = self;
        thread::Builder::new().name("logbook".to_owned()).spawn(move || {
            loop {
                match facts.blocking_recv() {
                    Ok(fact) => {
                        if let Some(record) = book.observe(&fact) {
                            heard.note();
                            slot.put(record);
                        }
                        if let What::Ended { .. } = fact.what {
                            break;
                        }
                    }
                    // Which of them would have been told, the journal says in the end.
                    Err(RecvError::Lagged(missed)) => heard.miss(missed),
                    Err(RecvError::Closed) => break,
                }
            }
            slot.end();
        })?;
        Ok(())
    }
}

/// Telemetry of one run.
pub struct Session {
    traces: Option<Post<ExportTraceServiceRequest>>,
    logs: Option<Post<ExportLogsServiceRequest>>,
    live: Live,
    context: RunContext,
    deadline: Deadline,
    heard: Arc<Heard>,
}

impl Session {
    /// Starts what sends, of the run that `context` shows and whose operations `live` hears of.
    ///
    /// # Errors
    /// The system has no thread to spare.
    pub fn start(settings: &ExportSettings, context: RunContext, live: Live) -> io::Result<Self> {
        let deadline = Deadline::never();
        let context = context.with_resource(settings.service.as_deref(), &settings.attributes);
        let traces = settings.traces.as_ref();
        let traces =
            traces.map(|target| Post::start("traces", target, context.clone(), deadline.clone()));
        let logs = settings.logs.as_ref();
        let logs =
            logs.map(|target| Post::start("logs", target, context.clone(), deadline.clone()));
        let (traces, logs) = (traces.transpose()?, logs.transpose()?);
        if let Some(traces) = &traces {
            live.connect(traces.slot(), &context.run);
        }
        Ok(Self { traces, logs, live, context, deadline, heard: Arc::default() })
    }

    /// The run as collectors see it.
    #[must_use]
    pub fn context(&self) -> &RunContext {
        &self.context
    }

    /// What sends logs of facts as they come; nothing where logs go nowhere.
    #[must_use]
    pub fn listener(&self) -> Option<Listener> {
        let logs = self.logs.as_ref()?;
        let (book, heard) = (Logbook::new(self.context.clone()), Arc::clone(&self.heard));
        Some(Listener { slot: logs.slot(), book, heard })
    }

    /// What sends a trace of each window of such a length, of the run that `header` begins and that
    /// has no end, and logs that lead there; nothing where traces go nowhere.
    #[must_use]
    pub fn windows(&self, header: &Header, length: Duration) -> Option<WindowFeed> {
        let (spans, logs) = (self.traces.as_ref()?.slot(), self.logs.as_ref().map(Post::slot));
        let traces = WindowTraces::new(header, self.context.clone(), length);
        Some(WindowFeed::new(spans, logs, traces, Arc::clone(&self.heard)))
    }

    /// What listeners have heard so far; it may be read after the session is over.
    #[must_use]
    pub fn heard(&self) -> Arc<Heard> {
        Arc::clone(&self.heard)
    }

    /// Sends logs of all these facts, of a run that is over.
    pub fn replay(&self, facts: impl IntoIterator<Item = Fact> + Send + 'static) {
        let Some(logs) = &self.logs else { return };
        let mut book = Logbook::new(self.context.clone());
        logs.all(Box::new(move |add| {
            facts.into_iter().filter_map(|fact| book.observe(&fact)).try_for_each(add)
        }));
    }

    /// Sends these traces, the last there are.
    pub fn send(&self, traces: Arc<Traces>) {
        if let Some(post) = &self.traces {
            post.all(Box::new(move |add| traces.iter().flatten().try_for_each(add)));
            post.end();
        }
    }

    /// Whether anything was to be sent: traces, logs.
    #[must_use]
    pub fn signals(&self) -> (bool, bool) {
        (self.traces.is_some(), self.logs.is_some())
    }

    /// Nobody waits for longer than this any more.
    pub fn hurry(&self, within: Duration) {
        self.deadline.set(within);
    }

    /// Waits until all was sent, and no longer than [`hurry`](Self::hurry) has said; what was of
    /// traces, and of logs.
    #[must_use]
    pub fn finish(self) -> (Sent, Sent) {
        let more = self.live.heard();
        let traces = self.traces.map(|post| post.finish(&self.deadline));
        let logs = self.logs.map(|post| post.finish(&self.deadline));
        let sent = |tally: Option<Arc<Tally>>, more| {
            let sent = |tally: Arc<Tally>| Sent { taken: tally.taken(), more, why: tally.why() };
            tally.map_or_else(Sent::default, sent)
        };
        (sent(traces, more), sent(logs, 0))
    }
}
