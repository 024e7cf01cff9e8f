//! A request to run an experiment: every choice is made.

use std::path::PathBuf;
use std::time::Duration;

use super::recorded::JOURNAL_FILE;
use super::stage::StageSpec;
use super::trial_cost::TrialCost;
use crate::chaos::Experiment;
use crate::controller::Recorder;
use crate::guard::Purpose;
use crate::ids::TrialNumber;
use crate::journal::Header;
use crate::time::Span;
use crate::topology::Plan;

/// How long everything may take to settle, in addition to three thresholds.
const WITHIN: Duration = Duration::from_secs(30);

/// Called at each milestone of a run.
pub type OnMilestone = Box<dyn Fn(Milestone) + Send + Sync>;
/// Called with the recorder before any fact is recorded, so that the callee can follow all facts.
pub type OnRecorder = Box<dyn Fn(&Recorder) + Send + Sync>;

/// An experiment to run.
pub struct RunRequest {
    /// The journal's first line: plan, brief, seed.
    pub header: Header,
    /// The trials.
    pub trials: TrialPlan,
    /// The folder for the journal, the logs and the result.
    pub folder: PathBuf,
    /// The `tandem` binary. Members, brokers and the guard are started from it.
    pub program: PathBuf,
    /// Do not remove the topics that the run creates.
    pub keep: bool,
    /// Called at each milestone.
    pub on_milestone: OnMilestone,
    /// Called with the recorder before any fact is recorded.
    pub on_recorder: OnRecorder,
}

/// The experiment, and the waits and limits of its trials.
pub struct TrialPlan {
    /// What each trial does.
    pub experiment: Experiment,
    /// The number of trials.
    pub count: u32,
    /// How long every group must be settled before a trial starts.
    pub settled: Duration,
    /// The longest wait for that.
    pub within: Duration,
    /// The time limit for all trials together.
    pub time_limit: Option<Duration>,
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Milestone {
    /// Brokers are started and topics are created.
    Starting,
    /// A trial waits for its groups to settle, or is running.
    Trial {
        /// Its number.
        number: TrialNumber,
        /// The number of trials.
        of: u32,
    },
    /// A trial is over, and its cost is final.
    Played {
        /// The trial's faults and their cost.
        trial: TrialCost,
        /// The number of trials.
        of: u32,
    },
    /// Members leave, and brokers end.
    Stopping,
}

impl RunRequest {
    /// The path of the journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.folder.join(JOURNAL_FILE)
    }

    /// Reports the cost of a trial.
    pub(super) fn report_played(&self, trial: TrialCost) {
        // Trials beyond the requested number replace disturbed ones.
        let of = self.trials.count.max(trial.number.0);
        (self.on_milestone)(Milestone::Played { trial, of });
    }

    /// What the stage of this run needs.
    pub(super) fn spec(&self) -> StageSpec<'_> {
        let Self { header, folder, program, keep, on_milestone, .. } = self;
        let (on_milestone, purpose) = (&**on_milestone, Purpose::Experiment);
        StageSpec { header, folder, program, keep: *keep, on_milestone, purpose }
    }
}

impl TrialPlan {
    /// The trials of this experiment on this plan.
    #[must_use]
    pub fn of(experiment: Experiment, plan: &Plan) -> Self {
        let limits = experiment.limits.or(plan.limits);
        Self {
            count: experiment.trials,
            settled: experiment.steady.settled.get(),
            within: Self::within(&experiment, plan),
            time_limit: limits.time.map(Span::get),
            experiment,
        }
    }

    /// How long everything may take to settle.
    pub(super) fn within(experiment: &Experiment, plan: &Plan) -> Duration {
        let threshold = plan.groups.values().map(|group| group.pace.threshold.get()).max();
        let usual = WITHIN + 3 * threshold.unwrap_or_default();
        experiment.recover.map_or(usual, Span::get)
    }

    /// Returns when the trials exceed their time limit, with a message.
    pub(super) async fn out_of_time(&self) -> String {
        match self.time_limit {
            None => std::future::pending().await,
            Some(limit) => {
                tokio::time::sleep(limit).await;
                format!("the experiment took longer than its limit of {}", Span(limit))
            }
        }
    }
}
