//! A member's event on another clock: each of its instants is placed there.

use super::{Horizon, MemberEvent};
use crate::time::Mono;

impl MemberEvent {
    /// The same event, with `place` of each of its instants.
    #[must_use]
    pub fn placed(self, mut place: impl FnMut(Mono) -> Mono) -> Self {
        match self {
            Self::Claimed { partition, term, from, until, stands_in_for, fence } => {
                let (from, until) = (place(from), place(until));
                Self::Claimed { partition, term, from, until, stands_in_for, fence }
            }
            Self::Renewed { claims } => {
                let claims = claims.into_iter();
                let placed = claims.map(|one| Horizon { until: place(one.until), ..one });
                Self::Renewed { claims: placed.collect() }
            }
            Self::Lapsed { partition, term, at, why } => {
                Self::Lapsed { partition, term, at: place(at), why }
            }
            Self::Ticks { partitions, from, until } => {
                Self::Ticks { partitions, from: place(from), until: place(until) }
            }
            Self::Hole { from, until } => Self::Hole { from: place(from), until: place(until) },
            Self::Late { from, until, waited_ns } => {
                Self::Late { from: place(from), until: place(until), waited_ns }
            }
            Self::Assigned { .. }
            | Self::Revoked { .. }
            | Self::Lost { .. }
            | Self::Clock { .. }
            | Self::Unconnected { .. }
            | Self::Connected
            | Self::Refused { .. }
            | Self::Leaving => self,
        }
    }
}
