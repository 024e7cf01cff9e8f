//! What is known of a topology that is kept up: for the terminal, and for the socket.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::broadcast;

use super::TRIAL;
use crate::controller::Record;
use crate::fold::Heard;
use crate::journal::{Header, Written};
use crate::live::{self, Health, Live};
use crate::live_view::{Event, Happening, JournalPicture, Moment, Picture, Run, Table};
use crate::observation::What;
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
    /// What is known before there is a record.
    idle: Live,
}

struct State {
    table: Table,
    events: VecDeque<Arc<Event>>,
    seq: u64,
    ends: Option<Mono>,
    judging: Judging,
    /// Whether the journal was written when that was last told.
    written: bool,
}

/// Whether gaps and overlaps count.
#[derive(Clone, Copy)]
enum Judging {
    NotYet,
    Now,
    /// They counted until then, if ever.
    Over(Mono),
}

impl Judging {
    fn may_go_on(self) -> bool {
        !matches!(self, Self::Over(_))
    }
}

/// Whether it says who leads what at this moment.
fn is_of_now(event: &live::Event) -> bool {
    use live::Event::{Health, Leaders, Unled};
    matches!(event, Leaders { .. } | Unled { .. } | Health { .. })
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
        let (ends, judging, written) = (None, Judging::NotYet, true);
        let state = Mutex::new(State { table, events, seq, ends, judging, written });
        let (told, record) = (broadcast::Sender::new(BEHIND_MAX), OnceLock::new());
        Self { run, state, told, record, idle: Live::new(&header.plan) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Itself, for the socket that answers.
    pub(super) fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        let source: Arc<Self> = Arc::clone(self);
        source
    }

    /// Facts are noted there from now on, and what comes of them is told.
    pub(super) fn begin(self: &Arc<Self>, record: &Arc<Record>) {
        self.record.get_or_init(|| Arc::clone(record));
        let service = Arc::downgrade(self);
        record.fold().listen(Box::new(move |live, heard| {
            if let Some(service) = service.upgrade() {
                service.hear(live, heard);
            }
        }));
    }

    /// Tells what comes of what was heard.
    fn hear(&self, live: &Live, heard: Heard<'_>) {
        // Nearly all facts are of these kinds, and nothing is told of them.
        if let Heard::Fact(fact) = heard
            && let What::Renewed { .. } | What::Ticks { .. } = fact.what
        {
            return;
        }
        let mut state = self.state();
        let told = match heard {
            Heard::Fact(fact) => Happening::of(live, fact).map(|what| (fact.t, what)),
            // When members were sent home, who leads what is no news.
            Heard::Event(event) if is_of_now(event) && !state.judging.may_go_on() => None,
            Heard::Event(event) => state.table.follow(live, event),
            Heard::Missed(facts) => {
                state.table.miss(facts);
                Some((Mono::now(), Happening::Missed { facts }))
            }
        };
        if let Some((t, what)) = told {
            self.tell(&mut state, t, what);
        }
        // What was never led is not missed: it counts from when every group led every role.
        if let Judging::NotYet = state.judging
            && live.health().0 == Health::Led
            && let Some(record) = self.record.get()
        {
            state.judging = Judging::Now;
            state.table.judge_from(record.note(None, What::TrialBegan { trial: TRIAL }));
        }
    }

    /// It ends by itself then, if ever.
    pub(super) fn ends(&self, ends: Option<Mono>) {
        self.state().ends = ends;
    }

    /// Members are sent home: from now on nothing counts.
    pub(super) fn judge_until_now(&self, record: &Record) {
        // The fold is looked at first, for it is what calls this service.
        let until = record.look(|live| {
            let mut state = self.state();
            let recovered = Some(live.health().0 == Health::Led);
            let until = match state.judging {
                Judging::NotYet => Mono::now(),
                Judging::Now => record.note(None, What::TrialEnded { trial: TRIAL, recovered }),
                Judging::Over(until) => until,
            };
            state.judging = Judging::Over(until);
            until
        });
        record.fold().end(until);
    }

    /// Says whether the journal is written, where that has changed.
    pub(super) fn tell_journal(&self) {
        let journal = self.journal();
        let mut state = self.state();
        if journal.written == state.written {
            return;
        }
        state.written = journal.written;
        let what = match journal.why {
            Some(why) => Happening::Unwritten { why },
            None => Happening::Written { lost: journal.lost },
        };
        self.tell(&mut state, Mono::now(), what);
    }

    /// It ends: the last that is told.
    pub(super) fn end(&self, why: &str) {
        // What was noted is told before.
        self.record.get().into_iter().for_each(|record| record.look(|_| ()));
        let mut state = self.state();
        let (why, joint) = (why.to_owned(), state.table.joint());
        self.tell(&mut state, Mono::now(), Happening::Ending { why, joint });
    }

    /// Tells under the lock, so that events are heard in the order of their numbers.
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
        // It is remembered where no client listens.
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
        let picture = |live: &Live| {
            let state = self.state();
            let (now, wall) = (Mono::now(), Wall::now());
            let moment = Moment { now, wall, journal, ends: state.ends, event: state.seq };
            state.table.picture(live, &self.run, moment)
        };
        match self.record.get() {
            Some(record) => record.look(picture),
            None => picture(&self.idle),
        }
    }

    fn feed(&self) -> Feed {
        let state = self.state();
        (state.events.iter().cloned().collect(), self.told.subscribe())
    }
}
