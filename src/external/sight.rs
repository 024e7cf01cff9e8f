//! How the instants of one life look on the clock of the reader. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Elsewhere, Placement};
use crate::observation::{Fact, MemberEvent, What};
use crate::time::Mono;

/// The most runs of ticks whose beginnings are remembered.
const RUNS_MAX: usize = 64;

/// How the instants of one life look here.
#[derive(Debug)]
pub(super) enum Sight {
    /// They are instants of this clock.
    Same,
    /// They are of another clock that was not compared well enough yet; since when it has been
    /// compared at all.
    Unknown { since: Option<Mono> },
    /// They are of another clock, and are placed on this one.
    Placed(Placed),
}

/// What was placed so far.
#[derive(Debug)]
pub(super) struct Placed {
    placement: Placement,
    /// Where runs of ticks began. Each fact about a run repeats that instant, which must not move
    /// with the offset.
    runs: BTreeMap<Mono, Mono>,
}

impl Sight {
    /// Its instants can be placed.
    pub(super) const fn by(placement: Placement) -> Self {
        Self::Placed(Placed { placement, runs: BTreeMap::new() })
    }

    /// How an instant looks here, that no fact says; none where that is unknown.
    pub(super) fn instant(
        &mut self,
        at: Mono,
        found: impl Fn(Mono) -> Option<Elsewhere>,
    ) -> Option<Mono> {
        match self {
            Self::Same => Some(at),
            Self::Unknown { .. } => None,
            Self::Placed(placed) => placed.instant(at, found),
        }
    }
}

/// The instant that an event is about, where that may be long ago.
const fn about(event: &MemberEvent) -> Option<Mono> {
    match event {
        MemberEvent::Claimed { from, .. } | MemberEvent::Hole { from, .. } => Some(*from),
        MemberEvent::Lapsed { at, .. } => Some(*at),
        MemberEvent::Assigned { .. }
        | MemberEvent::Revoked { .. }
        | MemberEvent::Lost { .. }
        | MemberEvent::Renewed { .. }
        | MemberEvent::Ticks { .. }
        | MemberEvent::Clock { .. }
        | MemberEvent::Late { .. }
        | MemberEvent::Unconnected { .. }
        | MemberEvent::Connected
        | MemberEvent::Refused { .. }
        | MemberEvent::Leaving => None,
    }
}

impl Placed {
    /// How far the instants may be off.
    pub(super) fn error(&self) -> Duration {
        self.placement.error()
    }

    /// The fact as it looks here; none while the comparison is worse than the stated error.
    pub(super) fn fact(
        &mut self,
        fact: &Fact,
        found: impl Fn(Mono) -> Option<Elsewhere>,
    ) -> Option<Fact> {
        let What::Member(event) = &fact.what else { return None };
        let reach = about(event).filter(|at| *at < fact.t);
        if !self.placement.follow(fact.t, found(fact.t)?) {
            return None;
        }
        let placement = self.placement;
        if let Some(at) = reach
            && !placement.contains(at, found(at)?)
        {
            return None;
        }
        let mut event = event.clone();
        if let MemberEvent::Ticks { from, until, .. } = &mut event {
            *from = *self.runs.entry(*from).or_insert(placement.place(*from));
            while self.runs.len() > RUNS_MAX {
                self.runs.pop_first();
            }
            *until = placement.place(*until);
        } else {
            event = event.placed(|at| placement.place(at));
        }
        // The stamps of a member may go back, so nothing holds them up here.
        Some(Fact { t: placement.place(fact.t), what: What::Member(event), ..fact.clone() })
    }

    /// How an instant looks here; none while the comparison is worse than the stated error.
    fn instant(&mut self, at: Mono, found: impl Fn(Mono) -> Option<Elsewhere>) -> Option<Mono> {
        let known = self.placement.follow(at, found(at)?);
        known.then(|| self.placement.place(at))
    }
}
