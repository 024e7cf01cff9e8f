//! What is to be run, with everything decided.

use std::path::PathBuf;
use std::time::Duration;

use super::stage::Scene;
use super::trial_cost::TrialCost;
use crate::chaos::Experiment;
use crate::controller::{LOOK_CLOSELY, Record};
use crate::guard::Purpose;
use crate::ids::TrialNumber;
use crate::journal::Header;
use crate::time::Span;

/// Hears how far a run is.
pub type Tell = Box<dyn Fn(Milestone) + Send + Sync>;
/// Is shown the record before anything is written to it, so that it can be followed.
pub type Show = Box<dyn Fn(&Record) + Send + Sync>;

/// A run, before it begins.
pub struct Order {
    /// The journal's first line: plan, brief, seed.
    pub header: Header,
    /// What is played.
    pub trials: TrialPlan,
    /// Where journal, logs and result go.
    pub folder: PathBuf,
    /// `tandem` itself, which members, brokers and the guard are started from.
    pub program: PathBuf,
    /// Topics that were made stay.
    pub keep: bool,
    /// Hears how far the run is.
    pub tell: Tell,
    /// Is shown the record before anything is written to it, so that it can be followed.
    pub show: Show,
}

/// The experiment and the waits around its trials.
pub struct TrialPlan {
    /// What each trial does.
    pub experiment: Experiment,
    /// How many there are.
    pub count: u32,
    /// For how long everything must be settled before a trial.
    pub settled: Duration,
    /// How long that may take.
    pub within: Duration,
    /// How long all trials together may take.
    pub time_limit: Option<Duration>,
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Milestone {
    /// Brokers and topics are seen to.
    Starting,
    /// A trial waits at its gate, or is under way.
    Trial {
        /// Which.
        number: TrialNumber,
        /// Of how many.
        of: u32,
    },
    /// What a trial did and cost is known.
    Played {
        /// What it did and cost.
        trial: TrialCost,
        /// Of how many trials.
        of: u32,
    },
    /// Members leave, brokers end.
    Stopping,
}

impl Order {
    /// Where the journal is.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.folder.join("journal.jsonl")
    }

    /// Tells what a trial did and cost.
    pub(super) fn tell_played(&self, trial: TrialCost) {
        // Beyond those asked for are those that replace others.
        let of = self.trials.count.max(trial.number.0);
        (self.tell)(Milestone::Played { trial, of });
    }

    /// What is staged for it.
    pub(super) fn scene(&self) -> Scene<'_> {
        let Self { header, folder, program, keep, tell, .. } = self;
        let look = LOOK_CLOSELY;
        let purpose = Purpose::Experiment;
        Scene { header, folder, program, keep: *keep, look, tell: &**tell, purpose }
    }
}

impl TrialPlan {
    /// Returns once the trials have taken longer than they may, with that in words.
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
