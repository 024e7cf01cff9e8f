//! Follows the facts of a run, and updates the [`Service`] from them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::{Service, TRIAL};
use crate::controller::Recorder;
use crate::live::{Event, Watch};
use crate::live_view::Happening;
use crate::observation::{Fact, What};
use crate::time::Mono;

/// Facts of this period are taken together. That costs less, and the delay is far below the time in
/// which a death must be reported.
const TOGETHER: Duration = Duration::from_millis(10);
/// How often to check what no fact reports, such as whether the journal is written.
const LOOK: Duration = Duration::from_millis(500);

/// How long after the end the last events may take to become final.
const FINAL: Duration = Duration::from_secs(1);

/// The state of following one run.
struct Follower {
    service: Arc<Service>,
    record: Arc<Recorder>,
    facts: Receiver<Arc<Fact>>,
    watch: Watch,
    /// Whether the journal was being written at the last check.
    written: bool,
    /// When the members were asked to leave. Later changes of leaders are not events.
    ended: Option<Mono>,
}

/// Follows until the members are asked to leave, and then until all earlier events are final.
pub(super) async fn follow(
    service: Arc<Service>,
    record: Arc<Recorder>,
    facts: Receiver<Arc<Fact>>,
    watch: Watch,
) {
    let mut follower = Follower { service, record, facts, watch, written: true, ended: None };
    while !follower.is_over() {
        let due = follower.watch.poll_timeout();
        let wait = due.map_or(LOOK, |due| due.since(Mono::now()).min(LOOK));
        let first = tokio::select! {
            biased;
            fact = follower.facts.recv() => Some(fact),
            () = tokio::time::sleep(wait) => None,
        };
        match first {
            Some(Ok(fact)) => follower.take(&fact),
            Some(Err(RecvError::Lagged(missed))) => follower.miss(missed),
            Some(Err(RecvError::Closed)) => break,
            None => {}
        }
        follower.drain();
        tokio::time::sleep(TOGETHER).await;
    }
    follower.watch.finish(Mono::now());
    follower.publish();
}

impl Follower {
    /// Whether all events are published.
    fn is_over(&self) -> bool {
        let Some(ended) = self.ended else { return false };
        self.watch.poll_timeout().is_none() || Mono::now().since(ended) > FINAL
    }

    /// Takes all waiting facts, and publishes the resulting events.
    fn drain(&mut self) {
        loop {
            match self.facts.try_recv() {
                Ok(fact) => self.take(&fact),
                Err(TryRecvError::Lagged(missed)) => self.miss(missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        // Read the clock before the end: no later time is counted.
        let now = Mono::now();
        self.ended = self.service.judged_until();
        self.ended.iter().for_each(|end| self.watch.end(*end));
        self.watch.handle_timeout(now);
        self.publish();
        self.check_journal();
    }

    /// Publishes the events of the watch.
    fn publish(&mut self) {
        let mut events: Vec<_> = std::iter::from_fn(|| self.watch.poll_event()).collect();
        if self.ended.is_some() {
            events.retain(|it| {
                let now = matches!(it, Event::Leaders { .. } | Event::Unled { .. });
                !now && !matches!(it, Event::Health { .. })
            });
        }
        if !events.is_empty() {
            let events = events.into_iter();
            self.service
                .change(|table| events.filter_map(|event| table.follow(event)).collect::<Vec<_>>());
            self.judge();
        }
    }

    fn take(&mut self, fact: &Fact) {
        self.watch.observe(fact);
        // Nearly all facts are of these two kinds, and neither makes an event.
        if !matches!(fact.what, What::Renewed { .. } | What::Ticks { .. }) {
            self.service.change(|table| table.take(fact).map(|what| (fact.t, what)));
        }
    }

    fn miss(&self, facts: u64) {
        tracing::warn!(facts, "Facts came faster than they could be processed; some are missed.");
        self.service.change(|table| {
            table.miss(facts);
            [(Mono::now(), Happening::Missed { facts })]
        });
    }

    /// Gaps count only after every group has led every role.
    fn judge(&self) {
        self.service.judge_from(|| self.record.note(None, What::TrialBegan { trial: TRIAL }));
    }

    fn check_journal(&mut self) {
        let journal = self.service.journal();
        if journal.written == self.written {
            return;
        }
        self.written = journal.written;
        let what = match journal.why {
            Some(why) => Happening::Unwritten { why },
            None => Happening::Written { lost: journal.lost },
        };
        self.service.change(|_| [(Mono::now(), what)]);
    }
}
