//! The fleet: starts the members' processes, records their facts, and restarts those that die.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tandem_member::Config;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info_span;

use super::departure::Departures;
use super::log_file::LogFile;
use super::stop_watcher::StopWatcher;
use super::{Clusters, Phase, Process, ProcessEnd, ProcessError, Recorder, Slot, Twin, TwinError};
use crate::guard::{Guard, work_mark};
use crate::ids::{Incarnation, Life, MemberId};
use crate::member::etcd::EtcdConfig;
use crate::member::{MemberCommand, arguments, config_of, duty_argument, etcd_config_of};
use crate::observation::{Fact, What};
use crate::telemetry::names;
use crate::time::Mono;
use crate::topology::Plan;

/// How long members have to leave their groups at the end of the run.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long to read the last facts of a dead member.
const DRAIN: Duration = Duration::from_secs(1);
/// The wait after a failed start, and the least time between two starts of a member.
const RETRY: Duration = Duration::from_secs(1);

/// All members of a plan.
pub struct Fleet {
    slots: BTreeMap<MemberId, Arc<Slot>>,
    recipes: BTreeMap<MemberId, Recipe>,
    keepers: JoinSet<()>,
    stop_watcher: Option<StopWatcher>,
    stop: CancellationToken,
}

/// Everything needed to start a member's process.
#[derive(Clone)]
struct Recipe {
    config: Config,
    /// In its place, where the group elects over etcd.
    etcd: Option<EtcdConfig>,
    /// The argument for the programs of its roles, if it has any.
    duty: Option<String>,
    program: PathBuf,
    departures: Departures,
    log: Arc<LogFile>,
    guard: Arc<Guard>,
    record: Arc<Recorder>,
}

/// Keeps one member alive.
struct Keeper {
    slot: Arc<Slot>,
    recipe: Recipe,
    restart_after: Duration,
    stop: CancellationToken,
}

impl Fleet {
    /// Starts every member of `plan`, and returns at once. Checks for stopped members every `look`.
    #[must_use]
    pub fn start(
        plan: &Plan,
        clusters: &Clusters,
        program: &Path,
        logs: &Path,
        guard: &Arc<Guard>,
        record: &Arc<Recorder>,
        look: Duration,
    ) -> Self {
        let stop = CancellationToken::new();
        let (slots, recipes, keepers) = (BTreeMap::new(), BTreeMap::new(), JoinSet::new());
        let mut fleet = Self { slots, recipes, keepers, stop_watcher: None, stop };
        for (name, group) in &plan.groups {
            for member in &group.members {
                let cluster = clusters.of_member(member, &group.cluster);
                let slot = Arc::new(Slot::new(member.clone(), group.duty.is_some()));
                fleet.slots.insert(member.clone(), Arc::clone(&slot));
                let life = Life { member: member.clone(), incarnation: Incarnation(1) };
                let config = config_of(life, group, &cluster);
                let recipe = Recipe {
                    departures: Departures::of(group, &config, clusters),
                    etcd: etcd_config_of(config.life.clone(), plan, name, group),
                    config,
                    duty: duty_argument(plan, name, group),
                    program: program.to_owned(),
                    log: Arc::new(LogFile::at(logs.join(format!("{member}.log")))),
                    guard: Arc::clone(guard),
                    record: Arc::clone(record),
                };
                fleet.recipes.insert(member.clone(), recipe.clone());
                let restart_after = group.restart_after.get();
                let keeper = Keeper { slot, recipe, restart_after, stop: fleet.stop.clone() };
                fleet.keepers.spawn(keeper.keep());
            }
        }
        let slots: Vec<_> = fleet.slots.values().cloned().collect();
        match StopWatcher::watch(slots, Arc::clone(record), look) {
            Ok(stop_watcher) => fleet.stop_watcher = Some(stop_watcher),
            Err(error) => tracing::error!(%error, "Stops of members cannot be recorded."),
        }
        fleet
    }

    /// The slot of a member.
    #[must_use]
    pub fn slot(&self, member: &MemberId) -> Option<&Arc<Slot>> {
        self.slots.get(member)
    }

    /// Starts a second process with the name of `life`'s member, beside the one that runs. Both
    /// have the same `client.id`; the facts of the second are recorded as `life`.
    ///
    /// # Errors
    /// There is no such member, or the process cannot be started under the guard.
    pub fn twin(&self, life: &Life) -> Result<Twin, TwinError> {
        let stranger = || TwinError::Stranger(life.member.clone());
        let recipe = self.recipes.get(&life.member).ok_or_else(stranger)?;
        let slot = self.slots.get(&life.member).ok_or_else(stranger)?;
        let (process, facts) = recipe.start(slot.life())?;
        Ok(Twin::keep(life.clone(), process, facts, Arc::clone(&recipe.record)))
    }

    /// Whether every member's process runs.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.slots.values().all(|slot| slot.state().phase == Phase::Running)
    }

    /// Ends all members: asks them to leave, waits, and kills those that remain.
    pub async fn stop(mut self) {
        self.stop.cancel();
        drop(self.stop_watcher.take());
        for slot in self.slots.values() {
            if let Some(process) = slot.process() {
                // A stopped member must continue to read the order.
                slot.signal(Signal::CONT).ok();
                process.order(&MemberCommand::Leave.line()).ok();
            }
        }
        let all = async { while self.keepers.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            for process in self.slots.values().filter_map(|slot| slot.process()) {
                process.signal(Signal::KILL).ok();
            }
            let all = async { while self.keepers.join_next().await.is_some() {} };
            // The guard kills those that remain even then.
            tokio::time::timeout(FAREWELL, all).await.ok();
        }
    }
}

impl Recipe {
    /// The process `pid` of a life has ended, and with it its programs: only then the group may
    /// give its roles to others.
    fn ended(&self, life: &Life, pid: u32, member_id: Option<String>) {
        let work = self.duty.as_ref().map(|_| work_mark(self.guard.mark(), pid));
        self.departures.leave_for(life, member_id, work);
    }

    fn start(&self, life: Life) -> Result<(Process, ChildStdout), ProcessError> {
        let mut arguments = match self.etcd.clone() {
            Some(etcd) => EtcdConfig { life, ..etcd }.arguments(),
            None => arguments(&Config { life, ..self.config.clone() }),
        };
        arguments.extend(self.duty.iter().flat_map(|duty| ["--duty".to_owned(), duty.clone()]));
        Process::start(&self.program, &arguments, &self.log, &self.guard)
    }
}

impl Keeper {
    /// Starts one process after the other, until the fleet stops.
    async fn keep(self) {
        while !self.stop.is_cancelled() {
            let life = self.slot.next_life();
            let born = Mono::now();
            let span = info_span!(
                target: names::LIVE,
                names::START_MEMBER,
                neli.member = %life.member,
                neli.incarnation = life.incarnation.0
            );
            let started = span.in_scope(|| self.recipe.start(life.clone()));
            drop(span);
            let wait = match started {
                Ok((process, facts)) => {
                    let died = self.live(&life, process, facts).await;
                    let next = match self.slot.take_restart() {
                        Some(asked) => died + asked,
                        None => next_life(born, died, self.restart_after),
                    };
                    next.since(Mono::now())
                }
                Err(error) => {
                    tracing::error!(%error, %life, "A member cannot be started.");
                    RETRY
                }
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Follows one life to its end. Returns when it died.
    async fn live(&self, life: &Life, process: Process, facts: ChildStdout) -> Mono {
        let process = Arc::new(process);
        let record = &self.recipe.record;
        let born = record.note(Some(life), What::Started { pid: process.pid(), external: None });
        self.slot.born(born, life.incarnation, Arc::clone(&process));
        let on_death = |member_id| self.recipe.ended(life, process.pid(), member_id);
        let died = live_out(life, &process, facts, record, on_death).await;
        self.slot.turn(died, Phase::Absent);
        died
    }
}

/// When to restart a member that started at `born` and died at `died`, if no fault has set another
/// time. A member that dies at each start must not be restarted in a busy loop.
fn next_life(born: Mono, died: Mono, restart_after: Duration) -> Mono {
    (died + restart_after).max(born + RETRY)
}

/// Records what a process writes as facts of `life`, until it has ended and its output is read.
/// Records its death as well, and returns when that was. Calls `on_death` at once when it died,
/// with the id by which its group knew it last.
pub(super) async fn live_out(
    life: &Life,
    process: &Process,
    facts: ChildStdout,
    record: &Recorder,
    on_death: impl FnOnce(Option<String>),
) -> Mono {
    let known = Mutex::default();
    let mut relay = pin!(relay(life, facts, record, &known));
    let mut drained = false;
    let exit: ProcessEnd = tokio::select! {
        biased;
        exit = process.ended() => exit,
        () = &mut relay => {
            drained = true;
            process.ended().await
        }
    };
    let died = Mono::now();
    on_death(lock(&known).take());
    // Its last facts are still in the pipe, and must be recorded before its death.
    if !drained {
        tokio::time::timeout(DRAIN, relay).await.ok();
    }
    let ProcessEnd { signal, status } = exit;
    record.note_at(died, Some(life), What::Died { signal, status });
    died
}

fn lock(known: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes each line of a member to the recorder, as a fact of `life`. Keeps the id by which its
/// group knows it in `known`, while it has not left.
async fn relay(life: &Life, facts: ChildStdout, record: &Recorder, known: &Mutex<Option<String>>) {
    let mut lines = BufReader::new(facts).lines();
    loop {
        match lines.next_line().await {
            Ok(Some(line)) => match serde_json::from_str::<Fact>(&line) {
                // A second process of a member uses the name of the first, so the life that the
                // process was started for counts.
                Ok(fact) => {
                    if let What::Assigned { member_id, .. } = &fact.what {
                        lock(known).clone_from(member_id);
                    } else if fact.what == What::Leaving {
                        *lock(known) = None;
                    }
                    record.take(Fact { life: Some(life.clone()), ..fact });
                }
                // Its sequence number will be missing, so the report counts its time as unknown.
                Err(error) => tracing::warn!(%life, %error, line, "A member wrote a bad line."),
            },
            Ok(None) => return,
            Err(error) => return tracing::warn!(%life, %error, "A member's output broke off."),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::next_life;
    use crate::time::Mono;

    fn at(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    #[test]
    fn a_member_that_dies_at_each_start_is_not_restarted_at_once() {
        let next = |born, died, after| next_life(at(born), at(died), Duration::from_millis(after));
        assert_eq!(next(5_000, 5_001, 0), at(6_000), "a restart after nothing must not spin");
        assert_eq!(next(5_000, 5_001, 2_000), at(7_001), "the topology's pause is longer");
        assert_eq!(next(5_000, 9_000, 0), at(9_000), "it lasted");
    }
}
