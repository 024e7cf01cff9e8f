//! Follows the facts of a run as they are written, and tells what comes of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::{Service, TRIAL};
use crate::controller::Record;
use crate::live::{Event, Watch};
use crate::live_view::Happening;
use crate::observation::{Fact, What};
use crate::time::Mono;

/// Facts of one such time are taken at once: it costs less, and is far below what may pass between
/// a death and its telling.
const TOGETHER: Duration = Duration::from_millis(10);
/// How often it is looked whether the journal is written, and whatever else nobody tells.
const LOOK: Duration = Duration::from_millis(500);

/// How long what happened before the end may take to be final.
const FINAL: Duration = Duration::from_secs(1);

/// What is followed, and with what.
struct Follower {
    service: Arc<Service>,
    record: Arc<Record>,
    facts: Receiver<Arc<Fact>>,
    watch: Watch,
    /// Whether the journal was written when that was looked at last.
    written: bool,
    /// When members were sent home: who leads what from then on is no news.
    ended: Option<Mono>,
}

/// Follows until members are sent home, and then until all is final.
pub(super) async fn follow(
    service: Arc<Service>,
    record: Arc<Record>,
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
    follower.tell();
}

impl Follower {
    /// Whether nothing more is to be told.
    fn is_over(&self) -> bool {
        let Some(ended) = self.ended else { return false };
        self.watch.poll_timeout().is_none() || Mono::now().since(ended) > FINAL
    }

    /// Takes whatever waits, and tells what comes of it.
    fn drain(&mut self) {
        loop {
            match self.facts.try_recv() {
                Ok(fact) => self.take(&fact),
                Err(TryRecvError::Lagged(missed)) => self.miss(missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        // Before it is asked for the end: nothing that comes after that is counted.
        let now = Mono::now();
        self.ended = self.service.judged_until();
        self.ended.iter().for_each(|end| self.watch.end(*end));
        self.watch.handle_timeout(now);
        self.tell();
        self.look_at_journal();
    }

    /// Tells what the watch says.
    fn tell(&mut self) {
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
        // Nearly all there are, and there is nothing to be told of them.
        if !matches!(fact.what, What::Renewed { .. } | What::Ticks { .. }) {
            self.service.change(|table| table.take(fact).map(|what| (fact.t, what)));
        }
    }

    fn miss(&self, facts: u64) {
        tracing::warn!(facts, "Facts came faster than they could be followed.");
        self.service.change(|table| {
            table.miss(facts);
            [(Mono::now(), Happening::Missed { facts })]
        });
    }

    /// What was never led is not missed: it counts from when every group led every role.
    fn judge(&self) {
        self.service.judge_from(|| self.record.note(None, What::TrialBegan { trial: TRIAL }));
    }

    fn look_at_journal(&mut self) {
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
