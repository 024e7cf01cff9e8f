//! The fleet: the members of a plan, each kept alive in a slot. Members come and go while it runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, io};

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::keeper::{Keeper, Upkeep};
use super::recipe::{Ground, Recipe};
use super::slot::lock;
use super::stop_watcher::{StopWatcher, Watched};
use super::{Clusters, Folders, Phase, Recorder, Slot, Twin, TwinError};
use crate::guard::Guard;
use crate::ids::{GroupName, Life, MemberId};
use crate::member::MemberCommand;
use crate::topology::{Plan, PlannedGroup};

/// How long members have to leave their groups at the end of the run.
const FAREWELL: Duration = Duration::from_secs(3);

/// All members of a plan.
pub struct Fleet {
    pub(super) seats: Mutex<BTreeMap<MemberId, Seat>>,
    /// The slots of members that were dismissed: the numbers of their lives go on.
    pub(super) dismissed: Mutex<BTreeMap<MemberId, Arc<Slot>>>,
    keepers: Mutex<JoinSet<()>>,
    /// The slots in which stops are looked for.
    pub(super) watched: Watched,
    stop_watcher: Option<StopWatcher>,
    stop: CancellationToken,
    ground: Ground,
}

/// The place of one member.
#[derive(Clone)]
pub(super) struct Seat {
    pub(super) slot: Arc<Slot>,
    pub(super) upkeep: Arc<Mutex<Upkeep>>,
    /// Its processes are not started again.
    pub(super) stop: CancellationToken,
    /// The last one has ended.
    pub(super) done: CancellationToken,
}

impl Fleet {
    /// Starts every member of `plan`, and returns at once. Checks for stopped members every `look`.
    #[must_use]
    pub fn start(
        plan: &Plan,
        clusters: &Clusters,
        program: &Path,
        folders: Folders<'_>,
        guard: &Arc<Guard>,
        record: &Arc<Recorder>,
        look: Duration,
    ) -> Self {
        let (program, logs) = (program.to_owned(), folders.logs.to_owned());
        let (guard, record) = (Arc::clone(guard), Arc::clone(record));
        let elections = folders.elections.to_owned();
        let watched = Watched::default();
        let watching = StopWatcher::watch(Arc::clone(&watched), Arc::clone(&record), look);
        let stop_watcher = watching
            .inspect_err(|error| tracing::error!(%error, "Stops of members cannot be recorded."));
        let fleet = Self {
            seats: Mutex::default(),
            dismissed: Mutex::default(),
            keepers: Mutex::default(),
            watched,
            stop_watcher: stop_watcher.ok(),
            stop: CancellationToken::new(),
            ground: Ground { program, logs, elections, guard, record },
        };
        for (name, group) in &plan.groups {
            group.members.iter().for_each(|it| fleet.enlist(it, (plan, clusters), (name, group)));
        }
        fleet
    }

    /// Starts a member of this group, if it is not there, and keeps it alive.
    pub fn enlist(
        &self,
        member: &MemberId,
        on: (&Plan, &Clusters),
        (name, group): (&GroupName, &PlannedGroup),
    ) {
        let mut seats = lock(&self.seats);
        if seats.contains_key(member) {
            return;
        }
        let recipe = Recipe::of(member, on, (name, group), &self.ground);
        let restart_after = group.restart_after.get();
        let known = lock(&self.dismissed).remove(member);
        let new = || Arc::new(Slot::new(member.clone(), group.duty.is_some()));
        let seat = Seat {
            slot: known.unwrap_or_else(new),
            upkeep: Arc::new(Mutex::new(Upkeep { recipe, restart_after, started: None })),
            stop: self.stop.child_token(),
            done: CancellationToken::new(),
        };
        lock(&self.watched).push(Arc::clone(&seat.slot));
        let Seat { slot, upkeep, stop, done } = seat.clone();
        let keeper = Keeper { slot, upkeep, stop, done: done.drop_guard() };
        let mut keepers = lock(&self.keepers);
        // Those that have ended.
        while keepers.try_join_next().is_some() {}
        keepers.spawn(keeper.keep());
        seats.insert(member.clone(), seat);
    }

    /// How a member of this group would be started.
    pub(super) fn recipe(
        &self,
        member: &MemberId,
        on: (&Plan, &Clusters),
        group: (&GroupName, &PlannedGroup),
    ) -> Recipe {
        Recipe::of(member, on, group, &self.ground)
    }

    pub(super) fn seat(&self, member: &MemberId) -> Option<Seat> {
        lock(&self.seats).get(member).cloned()
    }

    /// The slot of a member.
    #[must_use]
    pub fn slot(&self, member: &MemberId) -> Option<Arc<Slot>> {
        self.seat(member).map(|seat| seat.slot)
    }

    /// Starts a second process with the name of `life`'s member, beside the one that runs. Both
    /// have the same `client.id`; the facts of the second are recorded as `life`.
    ///
    /// # Errors
    /// There is no such member, or the process cannot be started under the guard.
    pub fn twin(&self, life: &Life) -> Result<Twin, TwinError> {
        let stranger = || TwinError::Stranger(life.member.clone());
        let seat = self.seat(&life.member).ok_or_else(stranger)?;
        let recipe = lock(&seat.upkeep).recipe.clone();
        let (process, facts) = recipe.start(seat.slot.life())?;
        Ok(Twin::keep(life.clone(), process, facts, recipe.record))
    }

    /// Checks for stopped members every `look` from now on.
    pub fn look_each(&self, look: Duration) {
        if let Some(stop_watcher) = &self.stop_watcher {
            stop_watcher.look_each(look);
        }
    }

    /// Whether every member's process runs.
    #[must_use]
    pub fn complete(&self) -> bool {
        lock(&self.seats).values().all(|seat| seat.slot.state().phase == Phase::Running)
    }

    /// Ends all members: asks them to leave, waits, and kills those that remain.
    pub async fn stop(mut self) {
        self.stop.cancel();
        drop(self.stop_watcher.take());
        let slots: Vec<_> = lock(&self.seats).values().map(|seat| Arc::clone(&seat.slot)).collect();
        for slot in &slots {
            if let Some(process) = slot.process() {
                // A stopped member must continue to read the order.
                slot.signal(Signal::CONT).ok();
                process.order(&MemberCommand::Leave.line()).ok();
            }
        }
        let mut keepers = std::mem::take(&mut *lock(&self.keepers));
        for last in [false, true] {
            let all = async { while keepers.join_next().await.is_some() {} };
            if tokio::time::timeout(FAREWELL, all).await.is_ok() || last {
                // The guard kills those that remain even then.
                break;
            }
            for process in slots.iter().filter_map(|slot| slot.process()) {
                process.signal(Signal::KILL).ok();
            }
        }
        if let Err(error) = fs::remove_dir_all(&self.ground.elections)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "The folder of the elections was not removed.");
        }
    }
}
