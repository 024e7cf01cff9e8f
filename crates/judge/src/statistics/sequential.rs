//! A sequential test: when a claim about a probability may be made before the last trial.
//!
//! Checking after every trial, and stopping at the first good interval of a fixed-length test,
//! understates the error: each look is another chance to err. So the looks are fixed before the
//! first trial and share the error (alpha spending, Lan and DeMets 1983). The first look is where
//! zero hits suffice, the second where one suffices, and so on: the claim is made at the first look
//! `k`, after `looks[k]` trials, with at most `k` hits. Each look but the last spends half of the
//! remaining error, the last one spends the rest. There are as many looks as fit into the longest
//! series, and at most ten.
//!
//! The error spent at a look is exact: the probability, at the limit itself, that the claim is made
//! there and not before. At a higher probability of hits the claim is less likely.

use super::binomial::solve;

/// The greatest number of looks: the error left for later ones is negligible.
const LOOKS_MAX: usize = 10;

/// A stopping rule, fixed before the first trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    limit: f64,
    error: f64,
    looks: Vec<u64>,
}

/// The decision of a rule after a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The claim holds.
    Claimed {
        /// The look at which it was made, from 0, which is also the number of hits allowed there.
        look: usize,
    },
    /// The claim may still be made.
    Open,
    /// No later look can make the claim.
    Hopeless,
}

/// The trials of a series so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Series {
    /// The number of trials that count.
    pub trials: u64,
    /// The number of hits among them.
    pub hits: u64,
    claimed: Option<usize>,
}

impl Rule {
    /// The rule for the claim that the probability is below `limit`, with `confidence`, and looks
    /// after `min` to `max` trials. None if even `max` trials without a hit are not enough.
    #[must_use]
    pub fn new(limit: f64, confidence: f64, min: u64, max: u64) -> Option<Self> {
        let error = 1.0 - confidence;
        if !(limit > 0.0 && limit < 1.0 && error > 0.0 && error < 1.0) {
            return None;
        }
        let mut walk = Walk::new(limit);
        let (mut before, mut spent, mut kept): (Vec<u64>, f64, Option<Vec<u64>>) =
            (Vec::new(), 0.0, None);
        for look in 0..LOOKS_MAX {
            let mut last = walk.clone();
            let Some(at) = last.until(look, error - spent, min, max) else { break };
            kept = Some(before.iter().copied().chain([at]).collect());
            let Some(at) = walk.until(look, (error - spent) / 2.0, min, max) else { break };
            spent += walk.take(look);
            before.push(at);
        }
        kept.map(|looks| Self { limit, error, looks })
    }

    /// The number of trials at each look: the claim is made without a hit at the first, with at
    /// most one at the second, and so on.
    #[must_use]
    pub fn looks(&self) -> &[u64] {
        &self.looks
    }

    /// Adds a trial to the series. Up to `left` further trials may follow.
    pub fn decide(&self, series: &mut Series, hit: bool, left: u64) -> Decision {
        series.trials += 1;
        series.hits += u64::from(hit);
        if series.claimed.is_none() {
            let looks = (0_u64..).zip(&self.looks).zip(0_usize..);
            let now = looks.filter(|((_, at), _)| **at == series.trials);
            let holds = now.filter(|((allowed, _), _)| series.hits <= *allowed);
            series.claimed = holds.map(|(_, look)| look).next();
        }
        self.prospect(series, left)
    }

    /// The decision for a series that up to `left` further trials may follow.
    #[must_use]
    pub fn prospect(&self, series: &Series, left: u64) -> Decision {
        if let Some(look) = series.claimed {
            return Decision::Claimed { look };
        }
        let reach = series.trials.saturating_add(left);
        let mut looks = (0_u64..).zip(&self.looks);
        let open = |(allowed, at): (u64, &u64)| {
            *at > series.trials && *at <= reach && series.hits <= allowed
        };
        if looks.any(open) { Decision::Open } else { Decision::Hopeless }
    }

    /// An upper bound on the probability for a claim made at `look`, with the rule's confidence. At
    /// any higher probability, a claim at this look or before is less likely.
    #[must_use]
    pub fn upper(&self, look: usize) -> f64 {
        solve(|probability| self.claims_by(look, probability) > self.error).min(self.limit)
    }

    /// The probability that the claim is made at all if each trial hits with `probability`.
    #[must_use]
    pub fn claims(&self, probability: f64) -> f64 {
        self.claims_by(self.looks.len().saturating_sub(1), probability)
    }

    fn claims_by(&self, look: usize, probability: f64) -> f64 {
        let mut walk = Walk::new(probability);
        let looks = self.looks.iter().enumerate().take(look + 1);
        looks
            .map(|(look, at)| {
                walk.go(*at);
                walk.take(look)
            })
            .sum()
    }
}

/// The distribution of the number of hits after a number of trials without a claim. Numbers above
/// what any look allows are left out.
#[derive(Debug, Clone)]
struct Walk {
    probability: f64,
    trials: u64,
    hits: [f64; LOOKS_MAX],
}

impl Walk {
    fn new(probability: f64) -> Self {
        let mut hits = [0.0; LOOKS_MAX];
        hits.iter_mut().take(1).for_each(|none| *none = 1.0);
        Self { probability, trials: 0, hits }
    }

    /// Adds one trial.
    fn step(&mut self) {
        let mut fewer = 0.0;
        for here in &mut self.hits {
            let before = *here;
            *here = before * (1.0 - self.probability) + fewer * self.probability;
            fewer = before;
        }
        self.trials += 1;
    }

    fn go(&mut self, trials: u64) {
        while self.trials < trials {
            self.step();
        }
    }

    /// Adds trials until a claim at this look spends at most `error`.
    fn until(&mut self, look: usize, error: f64, min: u64, max: u64) -> Option<u64> {
        self.go(min.min(max));
        while self.at(look) > error {
            if self.trials >= max {
                return None;
            }
            self.step();
        }
        (self.trials <= max).then_some(self.trials)
    }

    fn at(&self, look: usize) -> f64 {
        self.hits.iter().take(look + 1).sum()
    }

    /// Removes and returns the probability that the claim is made at this look.
    fn take(&mut self, look: usize) -> f64 {
        let made = self.at(look);
        self.hits.iter_mut().take(look + 1).for_each(|hits| *hits = 0.0);
        made
    }
}
