//! When a claim about a probability may be made before the last trial.
//!
//! Who looks after every trial, and stops as soon as the interval of a series of fixed length would
//! hold, errs more often than he says: each look is one more chance to err. So the looks are fixed
//! before the first trial, and share the error between them (alpha spending, Lan and DeMets 1983).
//! The first look is where no hit at all suffices, the next where one does, and so on: the claim is
//! made at the first look `k`, of which there are `looks[k]` trials, at which there are at most `k`
//! hits. The looks before the last spend half of what is left each, the last spends the rest. There
//! are as many looks as fit into the longest series, at most ten.
//!
//! What a look spends is exact: the probability, at the limit itself, that the claim is made there
//! and was not made before. At any greater probability it is made more rarely.

use super::binomial::solve;

/// So many looks at most: what is left for later ones is next to nothing.
const LOOKS_MAX: usize = 10;

/// A rule, fixed before the first trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    limit: f64,
    error: f64,
    looks: Vec<u64>,
}

/// What a rule says after a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The claim holds, made at this look.
    Claimed {
        /// Which, from 0: so many hits would have been allowed.
        look: usize,
    },
    /// It may yet be made.
    Open,
    /// No look that is still to come can make it.
    Hopeless,
}

/// Where a series stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Trials that count.
    pub trials: u64,
    /// Those of them that had it.
    pub hits: u64,
    claimed: Option<usize>,
}

impl Rule {
    /// The rule for "below `limit`, with `confidence`", looked at after `min` to `max` trials.
    /// Nothing where not even `max` trials without a hit would do.
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

    /// After how many trials the claim may be made: with no hit at the first of these, with one at
    /// the second, and so on.
    #[must_use]
    pub fn looks(&self) -> &[u64] {
        &self.looks
    }

    /// Takes the next trial that counts into account; `left` more may follow.
    pub fn decide(&self, standing: &mut Standing, hit: bool, left: u64) -> Decision {
        standing.trials += 1;
        standing.hits += u64::from(hit);
        if standing.claimed.is_none() {
            let looks = (0_u64..).zip(&self.looks).zip(0_usize..);
            let now = looks.filter(|((_, at), _)| **at == standing.trials);
            let holds = now.filter(|((allowed, _), _)| standing.hits <= *allowed);
            standing.claimed = holds.map(|(_, look)| look).next();
        }
        self.prospect(standing, left)
    }

    /// What can be said now, where `left` more trials may follow.
    #[must_use]
    pub fn prospect(&self, standing: &Standing, left: u64) -> Decision {
        if let Some(look) = standing.claimed {
            return Decision::Claimed { look };
        }
        let reach = standing.trials.saturating_add(left);
        let mut looks = (0_u64..).zip(&self.looks);
        let open = |(allowed, at): (u64, &u64)| {
            *at > standing.trials && *at <= reach && standing.hits <= allowed
        };
        if looks.any(open) { Decision::Open } else { Decision::Hopeless }
    }

    /// The most that the probability can be where the claim was made at `look`, with the rule's own
    /// confidence: a series that was claimed at this look or before it is rarer at any greater one.
    #[must_use]
    pub fn upper(&self, look: usize) -> f64 {
        solve(|probability| self.claims_by(look, probability) > self.error).min(self.limit)
    }

    /// The probability that the claim is made at all where each trial has a hit with `probability`.
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

/// How many hits there may be after so many trials in which no claim was made, and how probable
/// each number is. More hits than any look allows are left out.
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

    /// One more trial.
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

    /// Goes on until a claim at this look spends no more than `error`.
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

    /// The claim is made here, or never by these.
    fn take(&mut self, look: usize) -> f64 {
        let made = self.at(look);
        self.hits.iter_mut().take(look + 1).for_each(|hits| *hits = 0.0);
        made
    }
}
