//! Durations, counted and ranked.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Statistic;
pub(super) use crate::statistics::float;

/// The numbers of a set of durations. Quantiles are nearest-rank: each is one of the samples. Those
/// of an empty set are null.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min_ms: Option<f64>,
    /// Half are no longer.
    pub p50_ms: Option<f64>,
    /// Nineteen of twenty are no longer.
    pub p95_ms: Option<f64>,
    /// Ninety-nine of a hundred are no longer.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
}

/// Durations in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples(Vec<Duration>);

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        let mut all: Vec<_> = durations.into_iter().collect();
        all.sort_unstable();
        Self(all)
    }
}

impl Samples {
    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }

    /// The least of them that `percent` of a hundred do not exceed; nothing where there are none.
    #[must_use]
    pub fn quantile(&self, percent: usize) -> Option<Duration> {
        let rank = self.0.len().saturating_mul(percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied()
    }

    /// The number that `statistic` names; a count has none.
    #[must_use]
    pub fn statistic(&self, statistic: Statistic) -> Option<Duration> {
        match statistic {
            Statistic::Count => None,
            Statistic::Min => self.0.first().copied(),
            Statistic::P50 => self.quantile(50),
            Statistic::P95 => self.quantile(95),
            Statistic::P99 => self.quantile(99),
            Statistic::Max => self.0.last().copied(),
        }
    }

    /// All numbers.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let of = |statistic| self.statistic(statistic).map(ms);
        Distribution {
            count: self.count(),
            min_ms: of(Statistic::Min),
            p50_ms: of(Statistic::P50),
            p95_ms: of(Statistic::P95),
            p99_ms: of(Statistic::P99),
            max_ms: of(Statistic::Max),
        }
    }
}

/// A duration in milliseconds, exact to the nanosecond for a hundred days.
#[must_use]
pub fn ms(duration: Duration) -> f64 {
    float(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)) / 1e6
}
