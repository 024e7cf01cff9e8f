//! The current state of a topology that is kept up, for the terminal and the status socket.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::broadcast;

use super::TRIAL;
use crate::controller::Recorder;
use crate::fold::Heard;
use crate::journal::{Header, Written};
use crate::live::{self, Health, Live};
use crate::live_view::{Event, Happening, JournalPicture, Moment, Picture, Run, Table};
use crate::observation::What;
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
    /// The empty fold that answers before there is a recorder.
    idle: Live,
}

struct State {
    table: Table,
    events: VecDeque<Arc<Event>>,
    seq: u64,
    ends: Option<Mono>,
    judging: Judging,
    /// Whether the journal was written at the last check.
    written: bool,
}

/// Whether gaps and overlaps count.
#[derive(Clone, Copy)]
enum Judging {
    NotYet,
    Now,
    /// They counted until then, if they ever did.
    Over(Mono),
}

impl Judging {
    fn may_go_on(self) -> bool {
        !matches!(self, Self::Over(_))
    }
}

/// Whether the event is about the current leaders.
fn is_of_now(event: &live::Event) -> bool {
    use live::Event::{Health, Leaders, Unled};
    matches!(event, Leaders { .. } | Unled { .. } | Health { .. })
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
        let (ends, judging, written) = (None, Judging::NotYet, true);
        let state = Mutex::new(State { table, events, seq, ends, judging, written });
        let (followers, record) = (broadcast::Sender::new(BEHIND_MAX), OnceLock::new());
        Self { run, state, followers, record, idle: Live::new(&header.plan) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This service as the source of the status socket.
    pub(in crate::run) fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        let source: Arc<Self> = Arc::clone(self);
        source
    }

    /// Sets the recorder, and publishes the events of its facts from now on.
    pub(in crate::run) fn begin(self: &Arc<Self>, record: &Arc<Recorder>) {
        self.record.get_or_init(|| Arc::clone(record));
        let service = Arc::downgrade(self);
        record.fold().listen(Box::new(move |live, heard| {
            if let Some(service) = service.upgrade() {
                service.hear(live, heard);
            }
        }));
    }

    /// Publishes the events that follow.
    fn hear(&self, live: &Live, heard: Heard<'_>) {
        // Nearly all facts are of these two kinds, and neither makes an event.
        if let Heard::Fact(fact) = heard
            && let What::Renewed { .. } | What::Ticks { .. } = fact.what
        {
            return;
        }
        let mut state = self.state();
        let happening = match heard {
            Heard::Fact(fact) => Happening::of(live, fact).map(|what| (fact.t, what)),
            // After the members are asked to leave, changes of leaders are not events.
            Heard::Event(event) if is_of_now(event) && !state.judging.may_go_on() => None,
            Heard::Event(event) => state.table.follow(live, event),
            Heard::Missed(facts) => {
                state.table.miss(facts);
                Some((Mono::now(), Happening::Missed { facts }))
            }
        };
        if let Some((t, what)) = happening {
            self.publish(&mut state, t, what);
        }
        // Gaps count only after every group has led every role.
        if let Judging::NotYet = state.judging
            && live.health().0 == Health::Led
            && let Some(record) = self.record.get()
        {
            state.judging = Judging::Now;
            let what = What::TrialBegan { trial: TRIAL };
            // All observers of the same facts begin at the same instant.
            let from = if record.is_observing() {
                record.note_at(live.led_from(), None, what);
                live.led_from()
            } else {
                record.note(None, what)
            };
            state.table.judge_from(from);
        }
    }

    /// Sets when the run ends by itself, if it does.
    pub(in crate::run) fn ends(&self, ends: Option<Mono>) {
        self.state().ends = ends;
    }

    /// The members are asked to leave: from now on nothing counts.
    pub(in crate::run) fn judge_until_now(&self, record: &Recorder) {
        // The lock of the fold comes first, because the fold calls this service under it.
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

    /// Publishes whether the journal can be written, if that has changed.
    pub(super) fn publish_journal(&self) {
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
        self.publish(&mut state, Mono::now(), what);
    }

    /// Publishes the last event: the run ends.
    pub(in crate::run) fn end(&self, why: &str) {
        // Publish the events of all recorded facts first.
        self.record.get().into_iter().for_each(|record| record.look(|_| ()));
        let mut state = self.state();
        let (why, joint) = (why.to_owned(), state.table.joint());
        self.publish(&mut state, Mono::now(), Happening::Ending { why, joint });
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
        (state.events.iter().cloned().collect(), self.followers.subscribe())
    }
}
