//! With which versions of the protocol the other members work.

use std::time::Duration;

use tandem_facts::time::Mono;
use tandem_neli::{Author, Misfit, Versions};

use super::Input;
use crate::Config;

/// What a member says of its versions, and whom it meets.
pub(super) struct Company {
    versions: Versions,
    began: Mono,
    threshold: Duration,
    /// The last one that it did not work with, and that has to go.
    borne: Option<Versions>,
}

impl Company {
    pub(super) const fn new(began: Mono, config: &Config) -> Self {
        let Config { versions, threshold, .. } = config;
        Self { versions: *versions, began, threshold: *threshold, borne: None }
    }

    /// The author of this member's beacons at `now`.
    pub(super) fn own(&self, now: Mono) -> Author {
        Author { versions: self.versions, settled: now.since(self.began) > self.threshold }
    }

    /// What is to be looked at: an author of other versions.
    pub(super) fn met(&self, author: Option<Author>) -> Option<Input> {
        author.filter(|author| author.versions != self.versions).map(Input::Author)
    }

    /// The other one for which the member has to leave, if one is among these.
    pub(super) fn refused(&mut self, now: Mono, inputs: &[Input]) -> Option<Misfit> {
        let own = self.own(now);
        for input in inputs {
            let Input::Author(other) = input else { continue };
            let (ours, theirs) = (own.versions, other.versions);
            if ours.works_with(theirs) {
                continue;
            }
            let misfit = Misfit { ours, theirs };
            if own.yields_to(*other) {
                return Some(misfit);
            }
            if self.borne.replace(theirs) != Some(theirs) {
                tracing::warn!(%misfit, "The other one has to leave the group.");
            }
        }
        None
    }
}
