//! The current state of a topology that is kept up, for the terminal and the status socket.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;

use crate::controller::Recorder;
use crate::fold::Heard;
use crate::journal::{Header, Written};
use crate::live::{self, Live};
use crate::live_view::{Event, Happening, JournalPicture, Moment, Picture, Run, Table};
use crate::observation::{MemberEvent, RunEvent, What};
use crate::status_socket::{Feed, Source};
use crate::time::{Mono, Wall};
use crate::topology::Plan;

/// How many past events are kept for clients.
const REMEMBERED: usize = 1_000;
/// How many events a follower may be behind; fifty deaths at once make a quarter of that.
const BEHIND_MAX: usize = 4_096;

/// A supervisor that says nothing for this long is silent: it says each 20 ms what time it is.
const SILENT: Duration = Duration::from_secs(1);

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
    supervisor: Option<u32>,
    /// Whether gaps count no longer, because the members leave.
    over: bool,
    /// Whether the journal was written at the last check.
    written: bool,
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
            supervisor: None,
            folder,
            began: header.zero_wall,
        };
        let table = Table::new(&header.plan, header.zero);
        let (events, seq) = (VecDeque::new(), 0);
        let (ends, over, written) = (None, false, true);
        let state = Mutex::new(State { table, events, seq, ends, supervisor: None, over, written });
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
            && let What::Member(MemberEvent::Renewed { .. } | MemberEvent::Ticks { .. }) = fact.what
        {
            return;
        }
        let mut state = self.state();
        if let Heard::Fact(fact) = heard {
            if let What::Run(RunEvent::TrialBegan { .. }) = fact.what {
                state.table.judge_from(fact.t);
            } else if let What::Run(RunEvent::TrialEnded { .. }) = fact.what {
                state.over = true;
            }
        }
        let happening = match heard {
            Heard::Fact(fact) => Happening::of(live, fact).map(|what| (fact.t, what)),
            // After the members are asked to leave, changes of leaders are not events.
            Heard::Event(event) if is_of_now(event) && state.over => None,
            Heard::Event(event) => state.table.follow(live, event),
            Heard::Missed(facts) => {
                state.table.miss(facts);
                Some((Mono::now(), Happening::Missed { facts }))
            }
        };
        if let Some((t, what)) = happening {
            self.publish(&mut state, t, what);
        }
    }

    /// Takes the plan that holds from the next [`live::Event::Changed`] on.
    pub(super) fn change(&self, plan: &Plan) {
        self.state().table.change(plan.clone());
    }

    /// Sets the process that keeps the members running.
    pub(in crate::run) fn supervised(&self, by: u32) {
        self.state().supervisor = Some(by);
    }

    /// Sets when the run ends by itself, if it does.
    pub(in crate::run) fn ends(&self, ends: Option<Mono>) {
        self.state().ends = ends;
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
            let heard = self.record.get().and_then(|record| record.passed());
            let silent = heard.filter(|_| state.supervisor.is_some()).map(|t| now.since(t));
            let silent = silent.filter(|silent| *silent >= SILENT);
            // Nothing is known of later times.
            let now = silent.and(heard).unwrap_or(now);
            let (ends, event) = (state.ends, state.seq);
            let moment = Moment { now, wall, silent, journal, ends, event };
            let run = Run { supervisor: state.supervisor, ..self.run.clone() };
            state.table.picture(live, &run, moment)
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
