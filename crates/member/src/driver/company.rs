//! Who else is on the topic of a member, and whether it works with them.

use std::collections::BTreeSet;
use std::time::Duration;

use tandem_facts::time::Mono;
use tandem_neli::{Author, Misfit, Versions};

use super::Input;
use crate::Config;
use crate::kafka::Named;

/// The most other programs that a member warns of.
const BESIDE_MAX: usize = 16;

/// What a member says of itself, and whom it meets.
pub(super) struct Company {
    versions: Versions,
    named: Named,
    began: Mono,
    threshold: Duration,
    /// Why it did not work with the last one that has to go.
    borne: Option<Misfit>,
    /// The other programs that it met, as many as it warns of.
    beside: BTreeSet<String>,
}

impl Company {
    pub(super) fn new(began: Mono, config: &Config) -> Self {
        let Config { versions, named, threshold, .. } = config;
        let (versions, named, threshold) = (*versions, named.clone(), *threshold);
        Self { versions, named, began, threshold, borne: None, beside: BTreeSet::new() }
    }

    /// The author of this member's beacons at `now`.
    pub(super) fn own(&self, now: Mono) -> Author {
        Author { versions: self.versions, settled: now.since(self.began) > self.threshold }
    }

    /// What is to be looked at: an author of other versions, of another group, or that runs another
    /// program.
    pub(super) fn met(&self, author: Option<Author>, named: Named) -> Option<Input> {
        let author = author?;
        let is_other = author.versions != self.versions || named != self.named;
        is_other.then_some(Input::Author(author, named))
    }

    /// Why the member has to leave, if one among these was there before it and it does not work
    /// with that one.
    pub(super) fn refused(&mut self, now: Mono, inputs: &[Input]) -> Option<Misfit> {
        let own = self.own(now);
        for input in inputs {
            let Input::Author(other, named) = input else { continue };
            let ours = (own.versions, self.named.group.as_deref());
            let theirs = (other.versions, named.group.as_deref());
            let Some(misfit) = Misfit::of(ours, theirs) else {
                self.mixes_with(named);
                continue;
            };
            if own.yields_to(*other, &misfit) {
                return Some(misfit);
            }
            if self.borne.as_ref() != Some(&misfit) {
                tracing::warn!(%misfit, "The other one has to leave the group.");
                self.borne = Some(misfit);
            }
        }
        None
    }

    /// Warns of each other program once.
    fn mixes_with(&mut self, named: &Named) {
        let (Some(ours), Some(theirs)) = (&self.named.program, &named.program) else { return };
        if ours != theirs && self.beside.len() < BESIDE_MAX && self.beside.insert(theirs.clone()) {
            tracing::warn!(%ours, %theirs, "The group has members of another version.");
        }
    }
}
