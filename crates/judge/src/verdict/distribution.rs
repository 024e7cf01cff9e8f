//! Durations, counted and ranked.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Statistic;
pub(super) use crate::statistics::float;
use crate::timeline::Finding;

/// The statistics of a set of durations. Quantiles are nearest-rank, so each is one of the samples.
/// Those of an empty set are null.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// The number of durations.
    pub count: u64,
    /// The shortest.
    pub min_ms: Option<f64>,
    /// The median.
    pub p50_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
}

/// Durations in ascending order, with their frequencies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples {
    /// Each duration with the number of samples up to it.
    ranked: Vec<(Duration, u64)>,
}

impl FromIterator<(Duration, u64)> for Samples {
    /// Durations with their frequencies.
    fn from_iter<I: IntoIterator<Item = (Duration, u64)>>(durations: I) -> Self {
        let mut ranked: Vec<_> = durations.into_iter().filter(|(_, times)| *times > 0).collect();
        ranked.sort_unstable();
        let mut rank = 0_u64;
        for (_, times) in &mut ranked {
            rank = rank.saturating_add(*times);
            *times = rank;
        }
        Self { ranked }
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        durations.into_iter().map(|duration| (duration, 1)).collect()
    }
}

impl Samples {
    /// The durations of these findings, each counted once per role.
    pub fn of<'a>(found: impl IntoIterator<Item = &'a Finding>) -> Self {
        found.into_iter().map(|one| (one.span.length(), u64::from(one.roles.count))).collect()
    }

    /// The lengths that these findings surely had, without those that may not have been at all.
    pub fn least<'a>(found: impl IntoIterator<Item = &'a Finding>) -> Self {
        let sure = found.into_iter().filter(|one| one.excess.is_zero() || !one.least().is_zero());
        sure.map(|one| (one.least(), u64::from(one.roles.count))).collect()
    }

    /// The number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ranked.last().map_or(0, |(_, rank)| *rank)
    }

    /// The least duration that `percent` percent do not exceed; none if there are no durations.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> Option<Duration> {
        let rank = self.count().saturating_mul(percent).div_ceil(100).max(1);
        let place = self.ranked.partition_point(|(_, upto)| *upto < rank);
        self.ranked.get(place).map(|(duration, _)| *duration)
    }

    /// The value of `statistic`; none for a count.
    #[must_use]
    pub fn statistic(&self, statistic: Statistic) -> Option<Duration> {
        match statistic {
            Statistic::Count => None,
            Statistic::Min => self.ranked.first().map(|(duration, _)| *duration),
            Statistic::P50 => self.quantile(50),
            Statistic::P95 => self.quantile(95),
            Statistic::P99 => self.quantile(99),
            Statistic::Max => self.ranked.last().map(|(duration, _)| *duration),
        }
    }

    /// All statistics.
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

/// A duration in milliseconds, exact to the nanosecond up to a hundred days.
#[must_use]
pub fn ms(duration: Duration) -> f64 {
    float(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)) / 1e6
}
