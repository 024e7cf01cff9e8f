//! The stopping rule of a run: it goes on until its claim holds or cannot hold any more.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::sequential::Rule;

/// As many trials as a claim needs, within limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Until {
    /// The least number of trials.
    pub min: u32,
    /// The greatest number of trials.
    pub max: u32,
    /// The claim: the probability of a joint gap in a trial is below this.
    pub gap_probability_below: f64,
    /// The confidence: in this share of all runs in which the claim is false, it is not made.
    pub confidence: f64,
}

impl Until {
    /// The stopping rule; none if even all trials without a joint gap are not enough.
    #[must_use]
    pub fn rule(&self) -> Option<Rule> {
        let (min, max) = (u64::from(self.min), u64::from(self.max));
        Rule::new(self.gap_probability_below, self.confidence, min, max)
    }

    /// The possible outcomes as text:
    /// `claimed at 368 trials without a joint gap, at 551 with at most 1`.
    #[must_use]
    pub fn describe(&self) -> String {
        let rule = self.rule();
        let looks = rule.iter().flat_map(|rule| rule.looks().iter().enumerate());
        let looks: Vec<String> = looks
            .map(|(hits, trials)| match hits {
                0 => format!("claimed at {trials} trials without a joint gap"),
                hits => format!("at {trials} with at most {hits}"),
            })
            .collect();
        looks.join(", ")
    }
}

/// `gap_probability < 1 % (95 %)`.
impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, confidence) = (percent(self.gap_probability_below), percent(self.confidence));
        write!(f, "gap_probability < {limit} ({confidence})")
    }
}

/// A share in percent, with as many digits as it needs.
pub(super) fn percent(share: f64) -> String {
    let digits = format!("{:.6}", share * 100.0);
    let short = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{short} %")
}
