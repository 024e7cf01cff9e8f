//! How many trials are played: those asked for, and one in the place of each that the host has
//! disturbed, up to the number that the experiment states.
//!
//! Whether a trial is disturbed is decided by what the kernel says of the host, whatever came of
//! it: nothing here looks at an outcome. The report decides it again from all facts, and it is the
//! report that counts.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::controller::Record;
use crate::ids::TrialNumber;
use crate::verdict::Disturbed;

/// What members have to say of the last trial is known so long after it: they tell how late they
/// ran ten times a second.
const TOLD: Duration = Duration::from_millis(250);

/// The trials that are still to be played.
pub(super) struct Replacing<'a> {
    rule: Option<Disturbed>,
    record: &'a Record,
    asked: u32,
    /// How many there are, by what is known.
    pub(super) of: u32,
}

impl<'a> Replacing<'a> {
    /// So many, and those that replace others.
    pub(super) fn new(rule: Option<Disturbed>, asked: u32, record: &'a Record) -> Self {
        Self { rule, record, asked, of: asked }
    }

    /// The trial after this one; nothing where it was the last.
    pub(super) async fn after(
        &mut self,
        number: TrialNumber,
        stop: &CancellationToken,
    ) -> Option<TrialNumber> {
        if number.0 >= self.of && self.rule.is_some() {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(TOLD) => {}
            }
        }
        self.look();
        (number.0 < self.of).then(|| TrialNumber(number.0 + 1))
    }

    /// How many are left after this one.
    pub(super) fn left(&mut self, number: TrialNumber) -> u64 {
        self.look();
        u64::from(self.of.saturating_sub(number.0))
    }

    /// Whether the host has disturbed this one, by what is known.
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
