//! The first word of a report: the verdict, or that the run was interrupted.

use super::report::Report;
use super::ruling::Verdict;
use tandem_facts::observation::Outcome;

impl Report {
    /// The first word: `pass`, `fail`, `unknown`, or `interrupted`. What an interrupted run did not
    /// do is not a failure; what failed before is among its reasons.
    #[must_use]
    pub fn headline(&self) -> &'static str {
        if self.is_interrupted() { "interrupted" } else { self.verdict.as_str() }
    }

    /// The verdict whose sign and colour the word has.
    #[must_use]
    pub fn shown_as(&self) -> Verdict {
        if self.is_interrupted() { Verdict::Unknown } else { self.verdict }
    }

    fn is_interrupted(&self) -> bool {
        self.outcome == Some(Outcome::Interrupted)
    }
}
