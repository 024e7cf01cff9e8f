//! Epochs: the upper part of fences, and what a member knows of those of its group.

use std::hash::{Hash, Hasher};

use super::{ByPartition, GroupConfig};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

/// The bits of a fence that count owners: a million of each partition in an epoch.
pub const COUNT_BITS: u32 = 20;
/// The highest epoch that a clock begins, in the year 2242: fences below 2^53 are exact as the
/// numbers of JavaScript and of `jq`, for any clock.
const CLOCK_MOST: i64 = (1 << 33) - 1;

/// The epoch of a fence.
#[must_use]
pub const fn epoch(fence: i64) -> i64 {
    fence >> COUNT_BITS
}

/// The first fence of an epoch; none above the last one, 2^43 - 1.
fn first(epoch: i64) -> Option<i64> {
    epoch.checked_mul(1 << COUNT_BITS)
}

/// These fences, raised above `highest`, which is the highest fence of the group that this host
/// keeps. One that begins an epoch begins a later one.
#[must_use]
pub fn fences_above(highest: i64, fences: &ByPartition) -> ByPartition {
    let next = highest.saturating_add(1);
    let begun = first(epoch(highest).saturating_add(1)).unwrap_or(i64::MAX);
    let raised = |fence: i64| if first(epoch(fence)) == Some(fence) { begun } else { next };
    fences.iter().map(|(partition, fence)| (*partition, raised(*fence).max(*fence))).collect()
}

/// What a member has read of the fences of its group.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    highest: i64,
    /// The last epoch that the host was asked to keep.
    kept: i64,
}

/// It decides which numbers fences are, and no claim: two members are alike that differ in it.
impl Hash for Known {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Known {
    pub(super) fn read(&mut self, last: &ByPartition) {
        self.highest = last.values().copied().fold(self.highest, i64::max);
    }

    /// The highest fence, if its epoch is news.
    pub(super) fn news(&mut self) -> Option<i64> {
        let is_news = epoch(self.highest) > self.kept;
        self.kept = self.kept.max(epoch(self.highest));
        is_news.then_some(self.highest)
    }

    /// The next fence of each of these; none where the numbers are used up.
    pub(super) fn next(
        &self,
        now: Mono,
        config: &GroupConfig,
        of: impl Iterator<Item = PartitionId>,
        last: &ByPartition,
    ) -> Option<ByPartition> {
        let wall_ms = config.wall_ms.saturating_add_unsigned(now.0 / 1_000_000);
        let by_clock = (wall_ms / 1_000).clamp(0, CLOCK_MOST);
        let next = |partition: PartitionId| {
            let fence = match last.get(&partition) {
                Some(last) => last.checked_add(1),
                None => first(epoch(self.highest).saturating_add(1).max(by_clock)),
            };
            Some((partition, fence?))
        };
        of.map(next).collect()
    }
}
