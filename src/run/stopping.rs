//! Decides after each trial whether enough trials were played, by the experiment's `until`.
//!
//! Each decision reads only the facts of that trial, so its cost does not grow with the run. The
//! report applies the same rule again to all facts, and the report is authoritative.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::replacing::Replacing;
use crate::controller::Recorder;
use crate::ids::TrialNumber;
use crate::statistics::sequential::{Decision, Rule, Series};
use crate::time::Mono;
use crate::timeline::{Recent, Timeline};
use crate::topology::Plan;
use crate::verdict::{Until, joint_gaps_found};

/// How long after a trial to wait for the members' facts about its end: longer than a healthy
/// member is ever silent.
const LATE: Duration = Duration::from_millis(400);
/// The longest wait for these facts. What is missing then is unknown.
const LATE_MAX: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);
/// Facts are kept for the longest threshold plus this margin.
const BESIDE: Duration = Duration::from_secs(1);

/// A stopping rule, and the state of the run under it.
pub(super) struct Stopping {
    plan: Arc<Plan>,
    rule: Rule,
    series: Series,
    /// How many more trials are played regardless of their results.
    owed: u64,
    recent: Arc<Mutex<Recent>>,
    /// Receives every fact.
    _follower: JoinSet<()>,
}

impl Stopping {
    /// Starts to follow the facts. `None` if the run has a fixed number of trials.
    pub(super) fn start(until: Option<&Until>, plan: &Plan, record: &Recorder) -> Option<Self> {
        let until = until?;
        let rule = until.rule()?;
        let longest = plan.groups.values().map(|group| group.pace.threshold.get()).max();
        let recent = Recent::new(longest.unwrap_or_default().saturating_add(BESIDE));
        let recent = Arc::new(Mutex::new(recent));
        let mut facts = record.follow();
        let mut follower = JoinSet::new();
        let heard = Arc::clone(&recent);
        follower.spawn(async move {
            loop {
                match facts.recv().await {
                    Ok(fact) => lock(&heard).observe(&fact),
                    // The sequence numbers of later facts show that some are missing.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        });
        let plan = Arc::new(plan.clone());
        let owed = u64::from(until.min);
        let series = Series::default();
        Some(Self { plan, rule, series, owed, recent, _follower: follower })
    }

    /// Whether the run is over after this trial, which ended at `end`: its claim holds, or can no
    /// longer hold. A disturbed trial counts for neither.
    pub(super) async fn is_over_after(
        &mut self,
        (trial, end): (TrialNumber, Mono),
        replacing: &mut Replacing<'_>,
        stop: &CancellationToken,
    ) -> bool {
        let known = Mono(end.0.saturating_add(u64::try_from(LATE.as_nanos()).unwrap_or(u64::MAX)));
        let waited = Mono::now();
        while !self.recent().is_heard_since(known)
            && Mono::now().since(waited) < LATE_MAX
            && !stop.is_cancelled()
        {
            tokio::time::sleep(LOOK).await;
        }
        let facts = {
            let mut recent = self.recent();
            let facts = recent.facts();
            recent.forget_before(end);
            facts
        };
        let plan = Arc::clone(&self.plan);
        // This may take long, and a blocked task would miss its pulse to the guard.
        let found = tokio::task::spawn_blocking(move || {
            joint_gaps_found(&Timeline::compute(&*plan, &facts))
        });
        let found = found.await.unwrap_or_default();
        let found = found.into_iter().find(|(number, _)| *number == trial);
        let (left, disturbed) = (replacing.left(trial), replacing.is_disturbed(trial));
        self.owed = self.owed.saturating_sub(u64::from(!disturbed));
        let decision = match found.and_then(|(_, had)| had).filter(|_| !disturbed) {
            Some(had) => self.rule.decide(&mut self.series, had, left),
            None => self.rule.prospect(&self.series, left),
        };
        match decision {
            Decision::Open => false,
            Decision::Claimed { .. } => true,
            Decision::Hopeless => self.owed == 0,
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        lock(&self.recent)
    }
}

fn lock(recent: &Mutex<Recent>) -> MutexGuard<'_, Recent> {
    recent.lock().unwrap_or_else(PoisonError::into_inner)
}
