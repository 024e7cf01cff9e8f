//! Changes of the topology that is up (`tandem apply`): one at a time, carried out to the end,
//! whether or not the client that ordered it is there.
//!
//! ```text
//!  members leave, the last first --> the journal begins a file with the new plan
//!     --> members join, group after group --> those with other settings start again, one by one
//! ```
//!
//! Each step waits until the group is settled. New roles also wait until all groups are settled and
//! claim their partitions. What is done depends on what runs, not on the plan before, so a change
//! that failed goes on when it is ordered again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::hub::Hub;
use super::{SETTLED, Stage};
use crate::controller::{Departed, Fleet};
use crate::ids::{GroupName, MemberId, PartitionId};
use crate::journal::Header;
use crate::live::Live;
use crate::supervision::{ChangeOrder, Message};
use crate::time::Mono;
use crate::topology::{Foreign, Plan, PlannedGroup, in_place};
use crate::verdict::Brief;
use crate::yaml::Override;

/// How many steps may wait for a client; what it does not read is dropped.
const STEPS: usize = 256;
/// How long a group may take to settle, in addition to three thresholds.
const WITHIN: Duration = Duration::from_secs(30);
/// How long a member may take to leave, in addition to its threshold.
const LEAVES: Duration = Duration::from_secs(5);
/// How long the journal may take to be written; on a blocked disk it is behind.
const WRITTEN: Duration = Duration::from_secs(2);
/// How often to look.
const LOOK: Duration = Duration::from_millis(20);

/// The changes of a supervisor.
pub(super) struct Changes {
    /// The process that has ordered the one that is under way.
    underway: Arc<Mutex<Option<u32>>>,
    orders: mpsc::Sender<Work>,
    coming: Mutex<Option<mpsc::Receiver<Work>>>,
}

/// A change that is accepted.
struct Work {
    header: Header,
    steps: mpsc::Sender<Message>,
    place: Place,
}

/// The place of the change that is under way.
struct Place(Arc<Mutex<Option<u32>>>);

impl Drop for Place {
    fn drop(&mut self) {
        *lock(&self.0) = None;
    }
}

impl Default for Changes {
    fn default() -> Self {
        let (orders, coming) = mpsc::channel(1);
        Self { underway: Arc::default(), orders, coming: Mutex::new(Some(coming)) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Changes {
    /// # Errors
    /// A change is under way.
    pub(super) fn is_free(&self) -> Result<(), String> {
        match *lock(&self.underway) {
            None => Ok(()),
            Some(pid) => {
                Err(format!("the change that process {pid} has ordered is still being carried out"))
            }
        }
    }

    /// Accepts a change of what is up, as its journal's `header` has it. Returns its steps.
    ///
    /// # Errors
    /// It cannot be done in place, or another one is under way.
    pub(super) fn order(
        &self,
        order: ChangeOrder,
        header: &Header,
    ) -> Result<mpsc::Receiver<Message>, String> {
        self.is_free()?;
        let overrides = order.overrides.iter().map(|set| set.parse::<Override>());
        let overrides = overrides.collect::<Result<Vec<_>, _>>();
        let overrides = overrides.map_err(|error| crate::error::chain(&error))?;
        let to = in_place(&header.plan, &order.topology, &overrides).map_err(|problems| {
            let problems = problems.into_iter().map(|problem| problem.message);
            problems.collect::<Vec<_>>().join("; ")
        })?;
        let brief = Brief { objective: to.plan.objective, ..header.brief.clone() };
        let ChangeOrder { pid, topology, overrides } = order;
        let header = Header { topology, overrides, plan: to.plan, brief, ..header.clone() };
        *lock(&self.underway) = Some(pid);
        let place = Place(Arc::clone(&self.underway));
        let (steps, told) = mpsc::channel(STEPS);
        let ending = |_| "it is ending".to_owned();
        self.orders.try_send(Work { header, steps, place }).map_err(ending)?;
        Ok(told)
    }

    /// Carries out each change, until what is up `ends`.
    pub(super) async fn carry_out(
        &self,
        stage: &Stage,
        fleet: &Fleet,
        hub: &Hub,
        ends: &CancellationToken,
    ) {
        let coming = lock(&self.coming).take();
        let Some(mut coming) = coming else { return };
        loop {
            let work = tokio::select! {
                biased;
                () = ends.cancelled() => return,
                work = coming.recv() => work,
            };
            let Some(Work { header, steps, place }) = work else { return };
            tracing::info!("The topology is being changed.");
            let changing = Changing { stage, fleet, hub, header: &header, steps: &steps };
            let done = tokio::select! {
                biased;
                () = ends.cancelled() => Err("what is up ends".to_owned()),
                done = changing.carry_out() => done,
            };
            match &done {
                Ok(()) => tracing::info!("The topology is changed."),
                Err(why) => tracing::error!(why, "The topology is not changed to the end."),
            }
            // Freed first: a client that has read the last line may order the next change.
            drop(place);
            steps.try_send(Message::Applied { failed: done.err() }).ok();
        }
    }
}

/// The change that is under way.
struct Changing<'a> {
    stage: &'a Stage,
    fleet: &'a Fleet,
    hub: &'a Hub,
    header: &'a Header,
    steps: &'a mpsc::Sender<Message>,
}

impl Changing<'_> {
    fn say(&self, step: String) {
        tracing::info!(step, "A step of the change.");
        // A client that is gone, or does not read, needs to know nothing.
        self.steps.try_send(Message::Step(step)).ok();
    }

    fn plan(&self) -> &Plan {
        &self.header.plan
    }

    /// The longer of both plans' thresholds of a group.
    fn threshold(&self, name: &GroupName) -> Duration {
        let running = self.hub.about().header.plan;
        let plans = [self.plan(), &running];
        let groups = plans.iter().filter_map(|plan| plan.groups.get(name));
        groups.map(|group| group.pace.threshold.get()).max().unwrap_or_default()
    }

    async fn carry_out(&self) -> Result<(), String> {
        let running = self.hub.about().header.plan;
        for (name, group) in &running.groups {
            self.shrink(name, group).await?;
        }
        if running != *self.plan() {
            self.ready(&running).await;
            self.turn().await;
        }
        for (name, group) in &self.plan().groups {
            self.grow(name, group).await?;
        }
        for (name, group) in &self.plan().groups {
            self.renew(name, group).await?;
        }
        if let Some(why) = self.stage.record.written().why {
            self.say(format!("the journal is not being written ({why}); the change holds"));
        }
        Ok(())
    }

    /// Members that are not in the plan leave, the last first.
    async fn shrink(&self, name: &GroupName, before: &PlannedGroup) -> Result<(), String> {
        let there = self.fleet.members();
        let stays = self.plan().groups.get(name).map(|group| &group.members);
        let goes =
            |it: &&MemberId| there.contains(*it) && !stays.is_some_and(|all| all.contains(*it));
        for member in before.members.iter().rev().filter(goes) {
            let how = match self.fleet.dismiss(member, self.threshold(name) + LEAVES).await {
                Departed::Left => "has left",
                Departed::Killed => "did not leave in time, and was killed",
            };
            self.settle(name).await?;
            self.say(format!("group {name}: {member} {how}"));
        }
        Ok(())
    }

    /// A new role may be on a partition that had no role. A group is settled without it, so members
    /// that start may still have to claim it. All groups are ready at one look: one that was ready
    /// may rebalance while another is waited for.
    async fn ready(&self, running: &Plan) {
        if self.plan().roles.names().all(|role| running.roles.find(&role).is_some()) {
            return;
        }
        let groups = &self.plan().groups;
        let longest = groups.keys().map(|name| self.threshold(name)).max().unwrap_or_default();
        let wanted: Vec<_> =
            groups.iter().map(|(name, group)| (name, self.wanted(group))).collect();
        let began = Mono::now();
        let ready = self.await_complete(began + WITHIN + 3 * longest, |live, now| {
            wanted.iter().find_map(|(name, wanted)| {
                self.unsettled(live, (began, now), name).or_else(|| {
                    let claimed = live.claimed(now, name);
                    let missing = wanted.difference(&claimed).next()?;
                    Some(format!("no member of group {name} claims partition {missing}"))
                })
            })
        });
        // A group may need the change to settle.
        if let Err(why) = ready.await {
            self.say(format!("{why}: new roles may have no leader at first"));
        }
    }

    /// The partitions on which the plan has roles: those that members of the group are to claim.
    /// None where Tandem does not know of all of its members.
    fn wanted(&self, group: &PlannedGroup) -> BTreeSet<PartitionId> {
        if !group.is_started() || group.foreign == Foreign::Allow {
            return BTreeSet::new();
        }
        self.plan().classes_of(group).map(|roles| group.partition(roles.first)).collect()
    }

    /// From now on the plan is the new one.
    async fn turn(&self) {
        let (at, until) = self.stage.record.change(self.header);
        // Who reads the journal with the new header finds it there.
        while self.stage.record.progress().1 < until && Mono::now().since(at) < WRITTEN {
            tokio::time::sleep(LOOK).await;
        }
        self.hub.changed(at, self.header);
        let roles = self.plan().roles.len();
        self.say(format!("the plan is in effect, with {roles} roles"));
    }

    /// The members that are missing join, all of a group at once.
    async fn grow(&self, name: &GroupName, group: &PlannedGroup) -> Result<(), String> {
        let there = self.fleet.members();
        let missing: Vec<_> = group.members.iter().filter(|it| !there.contains(*it)).collect();
        for member in &missing {
            self.fleet.enlist(member, (self.plan(), &self.stage.clusters), (name, group));
        }
        if let (Some(first), Some(last)) = (missing.first(), missing.last()) {
            self.started(name, &missing).await?;
            self.settle(name).await?;
            let which =
                if first == last { first.to_string() } else { format!("{first} to {last}") };
            self.say(format!("group {name}: {which} joined"));
        }
        Ok(())
    }

    /// Members that were started with other settings start again, one by one.
    async fn renew(&self, name: &GroupName, group: &PlannedGroup) -> Result<(), String> {
        let outdated = self.fleet.revise((self.plan(), &self.stage.clusters), (name, group));
        if outdated.is_empty() {
            // A change before may have ended while the group was not settled yet.
            return self.settle(name).await;
        }
        for member in outdated {
            self.settle(name).await?;
            let within = self.threshold(name) + LEAVES;
            let how = match self.fleet.restart(&member, within).await {
                Some(Departed::Left) => "has left and started again",
                Some(Departed::Killed) => "did not leave in time, was killed and started again",
                None => return Err(format!("group {name}: {member} does not start again")),
            };
            self.settle(name).await?;
            self.say(format!("group {name}: {member} {how}"));
        }
        Ok(())
    }

    /// Waits until each of these members runs.
    async fn started(&self, name: &GroupName, members: &[&MemberId]) -> Result<(), String> {
        let began = Mono::now();
        for member in members {
            let left = WITHIN.saturating_sub(Mono::now().since(began));
            let Some(slot) = self.fleet.slot(member) else { continue };
            let runs = slot.reaches(left, |state| state.phase == crate::controller::Phase::Running);
            if runs.await.is_none() {
                return Err(format!(
                    "group {name}: {member} does not start within {WITHIN:?}, and is tried again \
                     and again; its log and supervisor.log say why"
                ));
            }
        }
        Ok(())
    }

    /// Waits until the group is settled.
    async fn settle(&self, name: &GroupName) -> Result<(), String> {
        let began = Mono::now();
        let until = began + WITHIN + 3 * self.threshold(name);
        self.await_complete(until, |live, now| self.unsettled(live, (began, now), name)).await
    }

    /// Why the group is not settled, though it was waited for from the first instant to the second.
    /// One that Tandem does not start is not waited for.
    fn unsettled(
        &self,
        live: &Live,
        (began, now): (Mono, Mono),
        name: &GroupName,
    ) -> Option<String> {
        if !self.plan().groups.get(name).is_some_and(PlannedGroup::is_started) {
            return None;
        }
        let why = match live.settled_since(now, name) {
            Some(since) if now.since(since) >= SETTLED => return None,
            Some(_) => "it has only just settled".to_owned(),
            None => live.obstacle(now, name).map_or_else(String::new, |it| it.to_string()),
        };
        let within = now.since(began);
        Some(format!("group {name} is not settled within {within:.0?}: {why}"))
    }

    /// Waits until nothing is missing, until this instant: what is missing then.
    async fn await_complete(
        &self,
        until: Mono,
        missing: impl Fn(&Live, Mono) -> Option<String>,
    ) -> Result<(), String> {
        loop {
            let now = Mono::now();
            let seen = self.stage.record.look(|live| missing(live, now));
            let Some(why) = seen else { return Ok(()) };
            if now >= until {
                return Err(why);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
