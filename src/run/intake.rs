//! Takes the facts of members that Tandem did not start from the facts topics to the recorder.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::controller::{Outside, Recorder};
use crate::external::{
    Arrival, Collated, Collation, Comparison, Letter, Reader, Reading, clock_domain,
};
use crate::ids::{ClusterName, Life};
use crate::kafka::{Cluster, TailFrom};
use crate::observation::{ClockDomain, RunEvent};
use crate::time::Mono;
use crate::topology::{Plan, PlannedGroup};

/// How much longer facts are waited for while the past is read. The letters of two members may be
/// far out of order: the first of each life has all that happened until its witness had connected,
/// and after an outage of their cluster each has all of it.
const BEHIND: Duration = Duration::from_secs(60);
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
        (record, outside): (&Arc<Recorder>, &Arc<Outside>),
    ) -> io::Result<Option<Self>> {
        let Some(topic) = plan.facts_topic().ok().filter(|_| plan.has_external()) else {
            return Ok(None);
        };
        let from = if record.is_observing() { TailFrom::Beginning } else { TailFrom::End };
        let here = clock_domain()?;
        let reader = Reader::start(clusters, &topic, from, here.clone())?;
        let groups = plan.groups_where(|group: &PlannedGroup| !group.is_started());
        let collation = Collation::new(groups, here.clone());
        let comparison = Comparison::new(clusters.clone(), topic);
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, record) = (Arc::clone(&stop), Arc::clone(record));
        let (plan, outside) = (plan.clone(), Arc::clone(outside));
        let thread = std::thread::Builder::new().name("facts".to_owned()).spawn(move || {
            let past = record.is_observing().then_some(Mono::ZERO);
            if past.is_some() {
                record.fold().wait(BEHIND);
            }
            let mut taking =
                Taking { reader, collation, comparison, record, here, past, plan, outside };
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
    comparison: Comparison,
    record: Arc<Recorder>,
    here: ClockDomain,
    /// The time that the letters say, until all that is past was read.
    past: Option<Mono>,
    plan: Plan,
    outside: Arc<Outside>,
}

impl Taking {
    fn turn(&mut self) {
        match self.reader.next(LOOK) {
            Arrival::Letter(cluster, letter) => {
                if let Some(reading) = letter.reading {
                    self.compare(&letter.origin.clock, &cluster, reading);
                }
                self.past = self.past.map(|past| past.max(letter.stamp(&self.here)));
                self.collate(*letter);
            }
            Arrival::Caught => {
                self.past = None;
                self.record.fold().wait(Duration::ZERO);
            }
            Arrival::Nothing => {}
        }
        self.compare_here();
        self.collation.handle_timeout(self.now());
        while let Some(next) = self.collation.poll() {
            match next {
                Collated::ByReader(t, life, event) => self.note(t, &life, &event),
                Collated::ByMember(fact) => self.record.take(fact),
                Collated::CutOff(t, life, off) => self.outside.cut_off(&life, t, off),
            }
        }
        if self.now() > Mono::ZERO {
            self.record.pass(self.now());
        }
    }

    /// Says of letters that are not taken, less often the more there are.
    fn collate(&mut self, letter: Letter) {
        let (now, before) = (self.now(), self.collation.refused());
        let (group, member) = (letter.origin.group.clone(), letter.origin.life.member.clone());
        self.collation.handle_letter(now, letter);
        let refused = self.collation.refused();
        if refused > before && refused.is_power_of_two() {
            tracing::warn!(
                %group, %member, refused,
                "Facts are not taken: Tandem starts the members of that group, or a member of \
                 another group has that name."
            );
        }
    }

    fn note(&self, t: Mono, life: &Life, event: &RunEvent) {
        self.record.note_at(t, Some(life), event.clone());
        // What follows from it is recorded after it.
        if let Some(origin) = self.collation.origin_of(life) {
            self.outside.observe(&self.plan, t, life, event, origin);
        }
    }

    /// Compares the clock of this process, where members have another one.
    fn compare_here(&mut self) {
        if self.collation.compares()
            && let Err(error) = self.comparison.begin()
        {
            tracing::warn!(%error, "The clocks of other hosts cannot be compared.");
        }
        while let Some((cluster, reading)) = self.comparison.poll() {
            self.compare(&self.here.clone(), &cluster, reading);
        }
    }

    fn compare(&mut self, host: &ClockDomain, cluster: &ClusterName, reading: Reading) {
        if self.collation.handle_reading(host, cluster, reading) {
            let broker = reading.broker;
            tracing::warn!(%cluster, broker, "The clock of a broker was set: it is compared anew.");
        }
    }

    fn now(&self) -> Mono {
        self.past.unwrap_or_else(Mono::now)
    }
}
