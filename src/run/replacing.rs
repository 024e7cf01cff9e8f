//! Counts the trials to play: the requested number, plus one replacement for each trial that the
//! host disturbed, up to the limit in the experiment.
//!
//! Only the kernel's measurements decide whether a trial is disturbed; its outcome plays no part.
//! The report decides it again from all facts, and the report is authoritative.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::controller::Recorder;
use crate::ids::TrialNumber;
use crate::verdict::Disturbed;

/// How long after a trial the members' facts about it are complete: members report their scheduling
/// delay ten times a second.
const FACTS_COMPLETE: Duration = Duration::from_millis(250);

/// The number of trials, including replacements.
pub(super) struct Replacing<'a> {
    rule: Option<Disturbed>,
    record: &'a Recorder,
    asked: u32,
    /// The number of trials, from the facts so far.
    pub(super) of: u32,
}

impl<'a> Replacing<'a> {
    /// Starts with the `asked` trials.
    pub(super) fn new(rule: Option<Disturbed>, asked: u32, record: &'a Recorder) -> Self {
        Self { rule, record, asked, of: asked }
    }

    /// The trial after `number`, or `None` if that was the last.
    pub(super) async fn after(
        &mut self,
        number: TrialNumber,
        stop: &CancellationToken,
    ) -> Option<TrialNumber> {
        if number.0 >= self.of && self.rule.is_some() {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(FACTS_COMPLETE) => {}
            }
        }
        self.look();
        (number.0 < self.of).then(|| TrialNumber(number.0 + 1))
    }

    /// The number of trials left after `number`.
    pub(super) fn left(&mut self, number: TrialNumber) -> u64 {
        self.look();
        u64::from(self.of.saturating_sub(number.0))
    }

    /// Whether the host disturbed this trial, from the facts so far.
    pub(super) fn is_disturbed(&self, number: TrialNumber) -> bool {
        self.disturbed().contains(&number)
    }

    fn look(&mut self) {
        let more = self.rule.map_or(0, |rule| rule.replacements(self.disturbed().len()));
        self.of = self.asked.saturating_add(more);
    }

    fn disturbed(&self) -> Vec<TrialNumber> {
        let Some(rule) = self.rule else { return Vec::new() };
        self.record.look(|live| live.hindrances().beyond(rule.stall.get()).collect())
    }
}
