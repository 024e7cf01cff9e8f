//! When the programs of a member last gave service, and the runs of that which it reports.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::ids::{PartitionId, RoleIndex};
use crate::observation::MemberEvent;
use crate::time::Mono;

/// How often a continuing run of ticks is reported.
pub(super) const REPORT_PERIOD: Duration = Duration::from_millis(50);
/// Two ticks further apart than this do not belong to one run.
pub(super) const RUN: Duration = Duration::from_millis(100);

/// The instant of the last tick of each role's program.
#[derive(Debug)]
pub struct Service {
    width: NonZeroU32,
    /// In nanoseconds of [`Mono`]; 0 before the first.
    last: Box<[AtomicU64]>,
}

impl Service {
    /// No ticks yet, of so many roles on a ledger of this width.
    #[must_use]
    pub fn new(width: NonZeroU32, roles: u32) -> Self {
        Self { width, last: (0..roles).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The program of `role` gave service at `at`.
    pub fn seen(&self, role: RoleIndex, at: Mono) {
        if let Some(last) = usize::try_from(role.0).ok().and_then(|index| self.last.get(index)) {
            last.fetch_max(at.0, Ordering::Relaxed);
        }
    }

    /// Until when all roles on `partition` were served: roles that share a partition are led as
    /// one. None before every one of them was served once. A partition without a role needs no
    /// program, and is served `now`.
    pub(super) fn of(&self, now: Mono, partition: PartitionId) -> Option<Mono> {
        let width = PartitionId(self.width.get()).index();
        let last = self.last.iter().skip(partition.index()).step_by(width);
        let last = last.map(|last| last.load(Ordering::Relaxed)).min().unwrap_or(now.0);
        (last > 0).then_some(Mono(last))
    }
}

/// A run of ticks of one partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    from: Mono,
    last: Mono,
    /// Until when it is reported, and when that was.
    reported: Option<(Mono, Mono)>,
}

impl Run {
    /// No ticks yet.
    pub(super) const NONE: Self = Self { from: Mono::ZERO, last: Mono::ZERO, reported: None };

    /// The last tick was at `at`. Returns the fact to report, if any: a run of which the end is
    /// not reported yet, at most each 50 ms.
    pub(super) fn tick(&mut self, now: Mono, on: PartitionId, at: Mono) -> Option<MemberEvent> {
        if at > self.last {
            let goes_on = self.last > Mono::ZERO && at.since(self.last) <= RUN;
            if !goes_on {
                *self = Self { from: at, last: at, reported: None };
            }
            self.last = at;
        }
        let waits = self
            .reported
            .is_some_and(|(until, at)| until == self.last || now.since(at) < REPORT_PERIOD);
        if waits {
            return None;
        }
        self.reported = Some((self.last, now));
        Some(MemberEvent::Ticks { partitions: vec![on], from: self.from, until: self.last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const K: PartitionId = PartitionId(0);

    #[test]
    fn a_partition_is_served_while_all_its_roles_are() {
        let service = Service::new(NonZeroU32::new(3).unwrap(), 4);
        let of = |k| service.of(Mono(99), PartitionId(k));
        service.seen(RoleIndex(0), Mono(5));
        assert_eq!(of(0), None, "role 3 is on partition 0 as well");
        service.seen(RoleIndex(3), Mono(7));
        service.seen(RoleIndex(3), Mono(6));
        assert_eq!(of(0), Some(Mono(5)));
        service.seen(RoleIndex(0), Mono(9));
        assert_eq!(of(0), Some(Mono(7)), "a late word takes nothing back");
        assert_eq!((of(1), of(2)), (None, None));
        let wide = Service::new(NonZeroU32::new(3).unwrap(), 1);
        assert_eq!(wide.of(Mono(99), PartitionId(2)), Some(Mono(99)), "it has no role");
    }

    #[test]
    fn a_run_is_reported_to_its_last_tick_and_ends_where_ticks_are_too_far_apart() {
        let mut run = Run::NONE;
        let mut reported = Vec::new();
        // The last tick before each look.
        let looks =
            [(0, 1), (10, 9), (40, 39), (60, 58), (70, 66), (110, 66), (170, 66), (300, 299)];
        for (now, at) in looks {
            if let Some(MemberEvent::Ticks { from, until, partitions }) =
                run.tick(Mono(now * MS), K, Mono(at * MS))
            {
                assert_eq!(partitions, [K]);
                reported.push((now, from.0 / MS, until.0 / MS));
            }
        }
        assert_eq!(reported, [(0, 1, 1), (60, 1, 58), (110, 1, 66), (300, 299, 299)]);
    }
}
