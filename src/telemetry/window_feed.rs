//! Follows the facts of a topology that is kept up, and sends a trace of each window together with
//! its logs.
//!
//! All of this runs on its own thread, which polls a few times a second: it costs little, and
//! neither a collector nor a long window delays the run.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::broadcast::{Receiver, error::TryRecvError};

use super::post::Slot;
use super::session::Heard;
use super::window::FACTS_MAX;
use super::window_traces::WindowTraces;
use crate::fold::Fold;
use crate::live::{Finality, Live};
use crate::observation::{Fact, RunEvent, What};
use crate::time::Mono;

/// How often facts are taken, in batches. The end of a run waits this long.
const LOOK: Duration = Duration::from_millis(100);

/// Sends a trace of each window, and logs if they are on.
#[derive(Clone)]
pub struct WindowFeed {
    spans: Slot<Span>,
    logs: Option<Slot<LogRecord>>,
    traces: WindowTraces,
    heard: Arc<Heard>,
    has_told: bool,
}

impl WindowFeed {
    pub(super) fn new(
        spans: Slot<Span>,
        logs: Option<Slot<LogRecord>>,
        traces: WindowTraces,
        heard: Arc<Heard>,
    ) -> Self {
        Self { spans, logs, traces, heard, has_told: false }
    }

    /// Starts following `facts`, until the run's last fact.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn hear(mut self, mut facts: Receiver<Arc<Fact>>, fold: Arc<Fold>) -> io::Result<()> {
        // The run's own span is pending from now on.
        self.heard.owe(1);
        thread::Builder::new().name("windows".to_owned()).spawn(move || {
            loop {
                // Ask before taking facts: all facts that are folded by now wait here.
                let finality = fold.look(Live::finality);
                if self.take(&mut facts) {
                    break;
                }
                self.traces.handle_timeout(Mono::now());
                self.send(&finality);
                thread::sleep(LOOK);
            }
            self.traces.finish();
            fold.finish(Mono::now());
            self.send(&fold.look(Live::finality));
            self.spans.put(self.traces.own());
            self.spans.end();
            if let Some(logs) = self.logs {
                logs.end();
            }
        })?;
        Ok(())
    }

    /// Takes all waiting facts. Returns whether they were the last.
    fn take(&mut self, facts: &mut Receiver<Arc<Fact>>) -> bool {
        loop {
            match facts.try_recv() {
                Ok(fact) => {
                    self.traces.observe(&fact);
                    self.log(&fact);
                    if let What::Run(RunEvent::Ended { .. }) = fact.what {
                        return true;
                    }
                }
                Err(TryRecvError::Lagged(missed)) => {
                    self.heard.overlook(missed);
                    if self.logs.is_some() {
                        self.heard.miss(missed);
                    }
                    self.traces.miss(missed);
                }
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Closed) => return true,
            }
        }
    }

    /// Sends the log record of a fact, if it has one.
    fn log(&self, fact: &Fact) {
        if let Some(logs) = &self.logs
            && let Some(record) = self.traces.record(fact)
        {
            self.heard.note();
            logs.put(record);
        }
    }

    /// Sends all windows that are final.
    fn send(&mut self, finality: &Finality) {
        while let Some(trace) = self.traces.poll_trace(finality) {
            self.heard.owe(trace.spans.len());
            if trace.cut_short && !std::mem::replace(&mut self.has_told, true) {
                tracing::warn!(
                    facts = FACTS_MAX,
                    "So much happens that windows end early, each after this many facts."
                );
            }
            self.spans.put_all(trace.spans);
        }
    }
}
