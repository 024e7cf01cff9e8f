//! Whether enough trials were played: after each one, from the facts known by then.
//!
//! Only the facts of that trial are looked at, so the cost of a look does not grow with the run.
//! The report judges the same rule again from all facts, and it is the report that counts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::replacing::Replacing;
use crate::controller::Record;
use crate::ids::TrialNumber;
use crate::statistics::sequential::{Decision, Rule, Series};
use crate::time::Mono;
use crate::timeline::{Recent, Timeline};
use crate::topology::Plan;
use crate::verdict::{Until, joint_gaps_found};

/// What members have to say of the end of a trial is known so long after it: longer than one may be
/// silent.
const LATE: Duration = Duration::from_millis(400);
/// Nobody waits longer for it. What is not known by then is unknown.
const LATE_MAX: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);
/// Facts are kept for so much longer than the longest claim can outlive its last renewal.
const BESIDE: Duration = Duration::from_secs(1);

/// A rule, and where the run stands with it.
pub(super) struct Stopping {
    plan: Arc<Plan>,
    rule: Rule,
    series: Series,
    /// So many trials are played whatever they show.
    owed: u64,
    recent: Arc<Mutex<Recent>>,
    /// Hears every fact.
    _follower: JoinSet<()>,
}

impl Stopping {
    /// Begins to listen; nothing where the run is of a fixed number of trials.
    pub(super) fn start(until: Option<&Until>, plan: &Plan, record: &Record) -> Option<Self> {
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
                    // The numbers of those that follow say that some are missing.
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

    /// Whether the run is over with this trial, which ended at `end`: its claim holds, or cannot
    /// hold any more. A trial that the host disturbed says nothing of it.
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
        // It may take long, and the guard watches the loop that waits here.
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
