//! The word that stands first of a run: its verdict, or that nobody waited for one.

use super::report::Report;
use super::ruling::Verdict;
use tandem_facts::observation::Outcome;

impl Report {
    /// The word that stands first: `pass`, `fail`, `unknown`, or `interrupted`. What an interrupted
    /// run did not do is no failure; what failed until then stands among its reasons.
    #[must_use]
    pub fn headline(&self) -> &'static str {
        if self.is_interrupted() { "interrupted" } else { self.verdict.as_str() }
    }

    /// The verdict whose sign and colour that word has.
    #[must_use]
    pub fn shown_as(&self) -> Verdict {
        if self.is_interrupted() { Verdict::Unknown } else { self.verdict }
    }

    fn is_interrupted(&self) -> bool {
        self.outcome == Some(Outcome::Interrupted)
    }
}
