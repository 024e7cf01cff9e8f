//! The current state of a topology that is kept up, for the terminal and the status socket.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::broadcast;

use crate::controller::Recorder;
use crate::journal::{Header, Written};
use crate::live_view::{Event, Happening, JournalPicture, Level, Moment, Picture, Run, Table};
use crate::status_socket::{Feed, Source};
use crate::time::{Mono, Wall};

/// How many past events are kept for clients.
const REMEMBERED: usize = 1_000;
/// How many events a follower may be behind; fifty deaths at once make a quarter of that.
const BEHIND_MAX: usize = 4_096;

/// The state of a topology, and its events.
pub struct Service {
    run: Run,
    state: Mutex<State>,
    followers: broadcast::Sender<Arc<Event>>,
    record: OnceLock<Arc<Recorder>>,
}

struct State {
    table: Table,
    events: VecDeque<Arc<Event>>,
    seq: u64,
    ends: Option<Mono>,
    judging: Judging,
}

/// Whether gaps and overlaps count.
#[derive(Clone, Copy)]
enum Judging {
    NotYet,
    Now,
    /// They counted until then, if they ever did.
    Over(Mono),
}

impl Service {
    /// The state before the first fact.
    #[must_use]
    pub fn new(header: &Header, folder: PathBuf) -> Self {
        let run = Run {
            name: header.run.clone(),
            topology: header.plan.topology.clone(),
            pid: std::process::id(),
            folder,
            began: header.zero_wall,
        };
        let table = Table::new(&header.plan, header.zero);
        let (events, seq) = (VecDeque::new(), 0);
        let state = Mutex::new(State { table, events, seq, ends: None, judging: Judging::NotYet });
        let (followers, record) = (broadcast::Sender::new(BEHIND_MAX), OnceLock::new());
        Self { run, state, followers, record }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The health of the whole topology.
    #[must_use]
    pub fn health(&self) -> Level {
        self.state().table.health()
    }

    /// This service as the source of the status socket.
    pub(super) fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        let source: Arc<Self> = Arc::clone(self);
        source
    }

    /// Sets the recorder, whose journal the state reports.
    pub(super) fn begin(&self, record: &Arc<Recorder>) {
        self.record.get_or_init(|| Arc::clone(record));
    }

    /// Sets when the run ends by itself, if it does.
    pub(super) fn ends(&self, ends: Option<Mono>) {
        self.state().ends = ends;
    }

    /// When every role is led for the first time, gaps and overlaps count from the instant that
    /// `begin` returns. Does nothing after [`judge_until`](Self::judge_until).
    pub(super) fn judge_from(&self, begin: impl FnOnce() -> Mono) {
        let mut state = self.state();
        if matches!(state.judging, Judging::NotYet) && state.table.health() == Level::Led {
            state.judging = Judging::Now;
            state.table.judge_from(begin());
        }
    }

    /// Gaps and overlaps no longer count. If they did, `end` gets whether every role is led, and
    /// returns the last instant that counts.
    pub(super) fn judge_until(&self, end: impl FnOnce(bool) -> Mono) {
        let mut state = self.state();
        state.judging = Judging::Over(match state.judging {
            Judging::NotYet => Mono::now(),
            Judging::Now => end(state.table.health() == Level::Led),
            Judging::Over(until) => until,
        });
    }

    /// Until when gaps and overlaps counted; `None` while they count or have not started to.
    pub(super) fn judged_until(&self) -> Option<Mono> {
        match self.state().judging {
            Judging::NotYet | Judging::Now => None,
            Judging::Over(until) => Some(until),
        }
    }

    /// Changes the table, and publishes the resulting events.
    pub(super) fn change<I>(&self, change: impl FnOnce(&mut Table) -> I)
    where
        I: IntoIterator<Item = (Mono, Happening)>,
    {
        let mut state = self.state();
        for (t, what) in change(&mut state.table) {
            self.publish(&mut state, t, what);
        }
    }

    /// Publishes the last event: the run ends.
    pub(super) fn end(&self, why: &str) {
        self.change(|table| {
            let (why, joint) = (why.to_owned(), table.joint());
            [(Mono::now(), Happening::Ending { why, joint })]
        });
    }

    /// Publishes under the lock, so that followers get the events in the order of their numbers.
    fn publish(&self, state: &mut State, t: Mono, what: Happening) {
        let (published, now) = (Mono::now(), Wall::now());
        let ago = i64::try_from(published.since(t).as_millis()).unwrap_or(i64::MAX);
        let wall = Wall(now.0.saturating_sub(ago));
        state.seq += 1;
        let event = Arc::new(Event { seq: state.seq, t, wall, published, what });
        if state.events.len() == REMEMBERED {
            state.events.pop_front();
        }
        state.events.push_back(Arc::clone(&event));
        // Without followers this fails; the event is in `events` all the same.
        self.followers.send(event).ok();
    }

    /// The state of the journal.
    pub(super) fn journal(&self) -> JournalPicture {
        let Some(record) = self.record.get() else { return JournalPicture::default() };
        let Written { path, why, lost } = record.written();
        JournalPicture { file: path, written: why.is_none(), why, lost }
    }
}

impl Source for Service {
    fn picture(&self) -> Picture {
        // Before the lock, because the recorder has a lock of its own.
        let journal = self.journal();
        let state = self.state();
        let (now, wall) = (Mono::now(), Wall::now());
        let moment = Moment { now, wall, journal, ends: state.ends, event: state.seq };
        state.table.picture(&self.run, moment)
    }

    fn feed(&self) -> Feed {
        let state = self.state();
        (state.events.iter().cloned().collect(), self.followers.subscribe())
    }
}
