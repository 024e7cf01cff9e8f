//! Owns the members' processes: starts each, relays what it tells, starts it again when it dies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info_span;

use super::halts::Halts;
use super::{Clusters, Exit, Phase, Process, Record, Slot};
use crate::guard::Guard;
use crate::ids::{Incarnation, Life, MemberId};
use crate::member::{Order, Settings};
use crate::observation::{Fact, What};
use crate::telemetry::names;
use crate::time::Mono;
use crate::topology::Plan;

/// How long members have to leave their groups when the run is over.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long what a dead member wrote may take to be read.
const DRAIN: Duration = Duration::from_secs(1);
/// How long a process that could not be started is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// All members of a plan.
pub struct Fleet {
    slots: BTreeMap<MemberId, Arc<Slot>>,
    keepers: JoinSet<()>,
    halts: Option<Halts>,
    stop: CancellationToken,
}

/// What keeps one member alive.
struct Keeper {
    slot: Arc<Slot>,
    settings: Settings,
    restart_after: Duration,
    program: PathBuf,
    log: PathBuf,
    guard: Arc<Guard>,
    record: Arc<Record>,
    stop: CancellationToken,
}

impl Fleet {
    /// Starts every member of `plan`; returns at once.
    #[must_use]
    pub fn start(
        plan: &Plan,
        clusters: &Clusters,
        program: &Path,
        logs: &Path,
        guard: &Arc<Guard>,
        record: &Arc<Record>,
    ) -> Self {
        let stop = CancellationToken::new();
        let (slots, keepers) = (BTreeMap::new(), JoinSet::new());
        let mut fleet = Self { slots, keepers, halts: None, stop };
        for group in plan.groups.values() {
            for member in &group.members {
                let cluster = clusters.of_member(member, &group.cluster);
                let slot = Arc::new(Slot::new(member.clone()));
                fleet.slots.insert(member.clone(), Arc::clone(&slot));
                let life = Life { member: member.clone(), incarnation: Incarnation(1) };
                let keeper = Keeper {
                    slot,
                    settings: Settings::of(life, group, &cluster),
                    restart_after: group.restart_after.get(),
                    program: program.to_owned(),
                    log: logs.join(format!("{member}.log")),
                    guard: Arc::clone(guard),
                    record: Arc::clone(record),
                    stop: fleet.stop.clone(),
                };
                fleet.keepers.spawn(keeper.keep());
            }
        }
        let slots: Vec<_> = fleet.slots.values().cloned().collect();
        match Halts::watch(slots, Arc::clone(record)) {
            Ok(halts) => fleet.halts = Some(halts),
            Err(error) => tracing::error!(%error, "Stopped members will not be noticed."),
        }
        fleet
    }

    /// A member's place.
    #[must_use]
    pub fn slot(&self, member: &MemberId) -> Option<&Arc<Slot>> {
        self.slots.get(member)
    }

    /// Whether every member's process runs.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.slots.values().all(|slot| slot.state().phase == Phase::Running)
    }

    /// Ends all members: asks, waits, kills.
    pub async fn stop(mut self) {
        self.stop.cancel();
        drop(self.halts.take());
        for slot in self.slots.values() {
            if let Some(process) = slot.process() {
                // One that is stopped reads its orders when it wakes; one that is gone, never.
                process.signal(Signal::CONT).ok();
                process.order(&Order::Leave.line()).ok();
            }
        }
        let all = async { while self.keepers.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            for process in self.slots.values().filter_map(|slot| slot.process()) {
                process.signal(Signal::KILL).ok();
            }
            let all = async { while self.keepers.join_next().await.is_some() {} };
            // The guard has the last word on whatever survived even this.
            tokio::time::timeout(FAREWELL, all).await.ok();
        }
    }
}

impl Keeper {
    /// One life after the other, until the fleet stops.
    async fn keep(self) {
        let mut settings = self.settings.clone();
        while !self.stop.is_cancelled() {
            let life = &settings.life;
            let span = info_span!(
                target: names::LIVE,
                names::START_MEMBER,
                neli.member = %life.member,
                neli.incarnation = life.incarnation.0
            );
            let started = span.in_scope(|| {
                Process::start(&self.program, &settings.arguments(), &self.log, &self.guard)
            });
            drop(span);
            let wait = match started {
                Ok((process, facts)) => {
                    let died = self.live(&settings.life, process, facts).await;
                    let after = self.slot.take_restart().unwrap_or(self.restart_after);
                    (died + after).since(Mono::now())
                }
                Err(error) => {
                    tracing::error!(%error, life = %settings.life, "A member cannot be started.");
                    RETRY
                }
            };
            settings.life.incarnation = Incarnation(settings.life.incarnation.0 + 1);
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// One life; when it ended.
    async fn live(&self, life: &Life, process: Process, facts: ChildStdout) -> Mono {
        let process = Arc::new(process);
        let born = self.record.note(Some(life), What::Started { pid: process.pid() });
        self.slot.born(born, life.incarnation, Arc::clone(&process));
        let mut relay = pin!(relay(life, facts, &self.record));
        let mut drained = false;
        let exit: Exit = tokio::select! {
            biased;
            exit = process.ended() => exit,
            () = &mut relay => {
                drained = true;
                process.ended().await
            }
        };
        let died = Mono::now();
        // What it wrote before it died is still in the pipe, and belongs before its death.
        if !drained {
            tokio::time::timeout(DRAIN, relay).await.ok();
        }
        let Exit { signal, status } = exit;
        self.record.note_at(died, Some(life), What::Died { signal, status });
        self.slot.turn(died, Phase::Absent);
        died
    }
}

/// Hands every whole line of a member to the record.
async fn relay(life: &Life, facts: ChildStdout, record: &Record) {
    let mut lines = BufReader::new(facts).lines();
    loop {
        match lines.next_line().await {
            Ok(Some(line)) => match serde_json::from_str::<Fact>(&line) {
                Ok(fact) => record.take(&fact),
                // Its number will be missing, so the report counts it as unknown.
                Err(error) => tracing::warn!(%life, %error, line, "This is no fact."),
            },
            Ok(None) => return,
            Err(error) => return tracing::warn!(%life, %error, "A channel broke."),
        }
    }
}
