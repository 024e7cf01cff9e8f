//! What a change of the topology does to a fleet, member by member.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::fleet::Seat;
use super::slot::lock;
use super::{Clusters, Fleet, Phase};
use crate::host::DEATH;
use crate::ids::{GroupName, MemberId};
use crate::member::MemberCommand;
use crate::topology::{Plan, PlannedGroup};

/// How often a member that is being started is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// How a member ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departed {
    /// It left its group, or did not run.
    Left,
    /// It did not leave in time, and was killed.
    Killed,
}

impl Fleet {
    /// The members that are kept alive.
    #[must_use]
    pub fn members(&self) -> BTreeSet<MemberId> {
        lock(&self.seats).keys().cloned().collect()
    }

    /// Members of this group are started as `on` says from now on. Those that run go on as they
    /// are: returns the ones that would have to be started again, in order.
    pub fn revise(
        &self,
        on: (&Plan, &Clusters),
        group: (&GroupName, &PlannedGroup),
    ) -> Vec<MemberId> {
        let mut outdated = Vec::new();
        for member in &group.1.members {
            let Some(seat) = self.seat(member) else { continue };
            let recipe = self.recipe(member, on, group);
            let mut upkeep = lock(&seat.upkeep);
            if upkeep.started.as_ref().is_some_and(|started| !started.is_like(&recipe)) {
                outdated.push(member.clone());
            }
            (upkeep.recipe, upkeep.restart_after) = (recipe, group.1.restart_after.get());
        }
        outdated
    }

    /// Has a member leave and end for good. It is killed if it does not end `within` this time.
    pub async fn dismiss(&self, member: &MemberId, within: Duration) -> Departed {
        let Some(seat) = self.seat(member) else { return Departed::Left };
        seat.stop.cancel();
        let departed = seat.end(within).await;
        lock(&self.watched).retain(|slot| !Arc::ptr_eq(slot, &seat.slot));
        lock(&self.seats).remove(member);
        lock(&self.dismissed).insert(member.clone(), seat.slot);
        departed
    }

    /// Has a member leave and end, and starts it again at once. It is killed if it does not end
    /// `within` this time. Returns `None` if it is not started again then.
    pub async fn restart(&self, member: &MemberId, within: Duration) -> Option<Departed> {
        let seat = self.seat(member)?;
        let before = seat.slot.state().incarnation;
        seat.slot.restart_once_after(Duration::ZERO);
        seat.leave();
        let again =
            |state: super::State| state.incarnation != before && state.phase == Phase::Running;
        if seat.slot.reaches(within, again).await.is_some() {
            return Some(Departed::Left);
        }
        seat.kill();
        seat.slot.reaches(DEATH, again).await.map(|_| Departed::Killed)
    }
}

impl Seat {
    /// Asks its process to leave. Returns which.
    fn leave(&self) -> Option<u32> {
        let process = self.slot.process()?;
        // A stopped member must continue to read the order.
        self.slot.signal(Signal::CONT).ok();
        process.order(&MemberCommand::Leave.line()).ok();
        Some(process.pid())
    }

    fn kill(&self) {
        self.slot.process().map(|process| process.signal(Signal::KILL));
    }

    async fn end(&self, within: Duration) -> Departed {
        let leaves = async {
            let mut asked = None;
            while !self.done.is_cancelled() {
                // The process may be one that was just being started.
                if self.slot.process().map(|process| process.pid()) != asked {
                    asked = self.leave();
                }
                tokio::time::timeout(LOOK, self.done.cancelled()).await.ok();
            }
        };
        if tokio::time::timeout(within, leaves).await.is_ok() {
            return Departed::Left;
        }
        self.kill();
        tokio::time::timeout(DEATH, self.done.cancelled()).await.ok();
        Departed::Killed
    }
}
