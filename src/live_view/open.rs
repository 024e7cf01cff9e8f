//! The number of gaps that go on, and the lengths of the gaps that are not final yet.

use super::picture::Counts;
use super::table::{Table, ms};
use crate::ids::GroupName;
use crate::live::Live;
use crate::time::Mono;
use crate::timeline::Interval;

/// The end of an interval that goes on.
const END: Mono = Mono(u64::MAX);

/// Gaps that are not final, counted for each role.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pending {
    /// How many go on.
    open: u64,
    /// How long the longest of these has lasted.
    open_ms_max: f64,
    /// The length of the longest, including those that have just ended.
    pub(super) longest_ms: f64,
}

impl Pending {
    /// Adds the open gaps to the final counts.
    pub(super) fn and(self, counts: Counts) -> Counts {
        Counts { open: self.open, open_ms_max: self.open_ms_max, ..counts }
    }

    fn add(&mut self, gap: Interval, now: Mono, roles: u32) {
        let lasted = ms(Interval::new(gap.from, gap.until.min(now)).length());
        self.longest_ms = self.longest_ms.max(lasted);
        if gap.until == END {
            self.open += u64::from(roles);
            self.open_ms_max = self.open_ms_max.max(lasted);
        }
    }
}

impl Table {
    /// The gaps that are not final, of one group or of all groups together.
    pub(super) fn pending(&self, live: &Live, group: Option<&GroupName>, now: Mono) -> Pending {
        let mut pending = Pending::default();
        for (gap, roles) in live.open_gaps(group, now) {
            if let Some(gap) = self.judged(gap) {
                pending.add(gap, now, roles.count);
            }
        }
        pending
    }
}
