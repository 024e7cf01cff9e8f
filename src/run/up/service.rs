//! What is known of a topology that is kept up, for whoever wants to see it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::broadcast;

use crate::controller::Record;
use crate::journal::{Header, Written};
use crate::live_view::{Event, Happening, JournalPicture, Level, Moment, Picture, Run, Table};
use crate::status_socket::{Feed, Source};
use crate::time::{Mono, Wall};

/// How many events are remembered for who asks later.
const REMEMBERED: usize = 1_000;
/// How far behind one may be who follows; fifty deaths at once are a quarter of it.
const BEHIND_MAX: usize = 4_096;

/// How a topology stands, and what happened to it.
pub struct Service {
    run: Run,
    state: Mutex<State>,
    told: broadcast::Sender<Arc<Event>>,
    record: OnceLock<Arc<Record>>,
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
    /// They counted until then, if ever.
    Over(Mono),
}

impl Service {
    /// Nothing has happened yet.
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
        let (told, record) = (broadcast::Sender::new(BEHIND_MAX), OnceLock::new());
        Self { run, state, told, record }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the whole stands.
    #[must_use]
    pub fn health(&self) -> Level {
        self.state().table.health()
    }

    /// The same, for whoever answers.
    pub(super) fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        let source: Arc<Self> = Arc::clone(self);
        source
    }

    /// Facts are written there from now on.
    pub(super) fn begin(&self, record: &Arc<Record>) {
        self.record.get_or_init(|| Arc::clone(record));
    }

    /// It ends by itself then, if ever.
    pub(super) fn ends(&self, ends: Option<Mono>) {
        self.state().ends = ends;
    }

    /// Once all is led, gaps and overlaps count from when `begin` says; never again once that is
    /// over.
    pub(super) fn judge_from(&self, begin: impl FnOnce() -> Mono) {
        let mut state = self.state();
        if matches!(state.judging, Judging::NotYet) && state.table.health() == Level::Led {
            state.judging = Judging::Now;
            state.table.judge_from(begin());
        }
    }

    /// They count no longer. Where they did, `end` says until when; it hears whether all is led.
    pub(super) fn judge_until(&self, end: impl FnOnce(bool) -> Mono) {
        let mut state = self.state();
        state.judging = Judging::Over(match state.judging {
            Judging::NotYet => Mono::now(),
            Judging::Now => end(state.table.health() == Level::Led),
            Judging::Over(until) => until,
        });
    }

    /// Until when they counted, if that is over.
    pub(super) fn judged_until(&self) -> Option<Mono> {
        match self.state().judging {
            Judging::NotYet | Judging::Now => None,
            Judging::Over(until) => Some(until),
        }
    }

    /// Lets the table change, and tells what comes of it.
    pub(super) fn change<I>(&self, change: impl FnOnce(&mut Table) -> I)
    where
        I: IntoIterator<Item = (Mono, Happening)>,
    {
        let mut state = self.state();
        for (t, what) in change(&mut state.table) {
            self.tell(&mut state, t, what);
        }
    }

    /// It ends: the last that is told.
    pub(super) fn end(&self, why: &str) {
        self.change(|table| {
            let (why, joint) = (why.to_owned(), table.joint());
            [(Mono::now(), Happening::Ending { why, joint })]
        });
    }

    /// Told under the lock, so that events are heard in the order of their numbers.
    fn tell(&self, state: &mut State, t: Mono, what: Happening) {
        let (told, now) = (Mono::now(), Wall::now());
        let ago = i64::try_from(told.since(t).as_millis()).unwrap_or(i64::MAX);
        let wall = Wall(now.0.saturating_sub(ago));
        state.seq += 1;
        let event = Arc::new(Event { seq: state.seq, t, wall, told, what });
        if state.events.len() == REMEMBERED {
            state.events.pop_front();
        }
        state.events.push_back(Arc::clone(&event));
        // Nobody listens: it is remembered all the same.
        self.told.send(event).ok();
    }

    /// Where facts are written.
    pub(super) fn journal(&self) -> JournalPicture {
        let Some(record) = self.record.get() else { return JournalPicture::default() };
        let Written { path, why, lost } = record.written();
        JournalPicture { file: path, written: why.is_none(), why, lost }
    }
}

impl Source for Service {
    fn picture(&self) -> Picture {
        // Before the lock: facts are written under another.
        let journal = self.journal();
        let state = self.state();
        let (now, wall) = (Mono::now(), Wall::now());
        let moment = Moment { now, wall, journal, ends: state.ends, event: state.seq };
        state.table.picture(&self.run, moment)
    }

    fn feed(&self) -> Feed {
        let state = self.state();
        (state.events.iter().cloned().collect(), self.told.subscribe())
    }
}
