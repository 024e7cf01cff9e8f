//! Takes the facts of members that Tandem did not start from the facts topics to the recorder.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::controller::Recorder;
use crate::external::{Arrival, Collated, Collation, Reader, clock_domain};
use crate::ids::ClusterName;
use crate::kafka::{Cluster, TailFrom};
use crate::time::Mono;
use crate::topology::{Plan, PlannedGroup};

/// How often time passes without a letter.
const LOOK: Duration = Duration::from_millis(20);
/// How long the facts of the last instants may take to arrive and be judged.
const LAST: Duration = Duration::from_secs(7);

/// The thread that takes them. Dropped, it ends.
pub(super) struct Intake {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Intake {
    /// Starts to take the facts of the groups of `plan` whose members Tandem does not start; none
    /// if there are no such groups. A recorder that observes gets all that the topics still have;
    /// any other what comes from now on.
    pub(super) fn start(
        plan: &Plan,
        clusters: &BTreeMap<ClusterName, Cluster>,
        record: &Arc<Recorder>,
    ) -> io::Result<Option<Self>> {
        let Some(topic) = plan.facts_topic().ok().filter(|_| plan.has_external()) else {
            return Ok(None);
        };
        let from = if record.is_observing() { TailFrom::Beginning } else { TailFrom::End };
        let here = clock_domain()?;
        let reader = Reader::start(clusters, &topic, from, here.clone())?;
        let groups = plan.groups_where(|group: &PlannedGroup| !group.is_started());
        let collation = Collation::new(groups, here.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, record) = (Arc::clone(&stop), Arc::clone(record));
        let thread = std::thread::Builder::new().name("facts".to_owned()).spawn(move || {
            let mut taking = Taking { reader, collation, record, here, past: None };
            taking.past = taking.record.is_observing().then_some(Mono::ZERO);
            while !stopped.load(Ordering::SeqCst) {
                taking.turn();
            }
        })?;
        Ok(Some(Self { stop, thread: Some(thread) }))
    }

    /// Waits until all that counts is final, within a bound, and ends.
    pub(super) async fn finish(self, record: &Recorder) {
        let began = Mono::now();
        while record.look(|live| live.poll_timeout().is_some()) && Mono::now().since(began) < LAST {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // It ends within a turn.
        self.thread.take().map(JoinHandle::join);
    }
}

struct Taking {
    reader: Reader,
    collation: Collation,
    record: Arc<Recorder>,
    here: crate::observation::ClockDomain,
    /// The time that the letters say, until all that is past was read.
    past: Option<Mono>,
}

impl Taking {
    fn turn(&mut self) {
        match self.reader.next(LOOK) {
            Arrival::Letter(letter) => {
                self.past = self.past.map(|past| past.max(letter.stamp(&self.here)));
                self.collation.handle_letter(self.now(), letter);
            }
            Arrival::Caught => self.past = None,
            Arrival::Nothing => {}
        }
        self.collation.handle_timeout(self.now());
        while let Some(next) = self.collation.poll() {
            match next {
                Collated::ByReader(t, life, what) => self.record.note_at(t, Some(&life), what),
                Collated::ByMember(fact) => self.record.take(fact),
            }
        }
        if self.now() > Mono::ZERO {
            self.record.pass(self.now());
        }
    }

    fn now(&self) -> Mono {
        self.past.unwrap_or_else(Mono::now)
    }
}
