//! The gate before each trial: whether all groups are settled, and for how long.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Recorder;
use crate::ids::GroupName;
use crate::observation::RunEvent;
use crate::time::Mono;

/// The polling interval: a claim expires without a fact.
const LOOK: Duration = Duration::from_millis(20);

/// Records when a group has been settled for the required time, and lets trials through when all
/// groups are.
pub struct Gate {
    record: Arc<Recorder>,
    /// How long a group must be settled.
    required: Duration,
    /// Since when each group was settled, when that was last recorded.
    noted: Mutex<BTreeMap<GroupName, Option<Mono>>>,
}

/// The groups did not settle in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not settled within {within:?}: {}", .obstacles.join("; "))]
pub struct Unsettled {
    /// How long the gate waited.
    pub within: Duration,
    /// One sentence for each group that is not settled.
    pub obstacles: Vec<String>,
}

impl Gate {
    /// A gate for these groups, which must be settled for the `required` time.
    #[must_use]
    pub fn new(
        record: Arc<Recorder>,
        groups: impl Iterator<Item = GroupName>,
        required: Duration,
    ) -> Self {
        let noted = Mutex::new(groups.map(|group| (group, None)).collect());
        Self { record, required, noted }
    }

    /// Checks every group. Returns the obstacles of those that are not settled for long enough.
    fn look(&self) -> Vec<String> {
        let now = Mono::now();
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut obstacles = Vec::new();
        for (group, noted) in &mut *noted {
            let seen = self.record.look(|live| {
                live.settled_since(now, group).ok_or_else(|| live.obstacle(now, group))
            });
            match seen {
                Ok(since) if now.since(since) >= self.required => {
                    if *noted != Some(since) {
                        *noted = Some(since);
                        self.record.note(None, RunEvent::Settled { group: group.clone() });
                    }
                }
                Ok(since) => {
                    let for_long = now.since(since);
                    obstacles.push(format!("{group} has only been settled for {for_long:.1?}"));
                }
                Err(obstacle) => {
                    *noted = None;
                    let why = obstacle.map_or_else(String::new, |why| why.to_string());
                    obstacles.push(format!("{group}: {why}"));
                }
            }
        }
        obstacles
    }

    /// Records each group that settles, until `stop` is cancelled.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        self.watch_each(LOOK, || true, stop).await;
    }

    /// As [`watch`](Self::watch), with another polling interval, and only while it is `alone`: of
    /// two gates the slower one would record after a fault that a group had settled before it, and
    /// what the fault causes would have no cause.
    pub async fn watch_each(
        self: Arc<Self>,
        pause: Duration,
        alone: impl Fn() -> bool,
        stop: CancellationToken,
    ) {
        while !stop.is_cancelled() {
            if alone() {
                self.look();
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Waits until every group has been settled for the required time.
    ///
    /// # Errors
    /// It took longer than `within`.
    pub async fn settled(&self, within: Duration) -> Result<(), Unsettled> {
        let began = Mono::now();
        loop {
            let obstacles = self.look();
            if obstacles.is_empty() {
                return Ok(());
            }
            if Mono::now().since(began) >= within {
                return Err(Unsettled { within, obstacles });
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
