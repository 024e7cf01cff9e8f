//! What explains why something is not led, beside faults, deaths and stops: stalls of the host, and
//! members that reach no broker.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem_facts::ids::{Life, MemberId};
use tandem_facts::observation::{Fact, What};
use tandem_facts::time::Mono;

/// A stall that is shorter cannot make a gap of its own: a duty may be silent for as long.
pub const STALL_LEAST: Duration = Duration::from_millis(100);

/// Stalls of the host that are long enough to make a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// The longest.
    pub longest: Duration,
    /// When the last one ended.
    pub last: Mono,
}

/// A member that cannot reach its brokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unconnected {
    /// In which life.
    pub life: Life,
    /// What its client says.
    pub why: String,
    /// Since when.
    pub since: Mono,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct Causes {
    stalls: Option<Stalls>,
    unconnected: BTreeMap<MemberId, Unconnected>,
}

impl Causes {
    pub(super) fn observe(&mut self, fact: &Fact) {
        if let What::Stall { from, until, .. } = &fact.what
            && until.since(*from) >= STALL_LEAST
        {
            let (count, longest) =
                self.stalls.map_or((0, Duration::ZERO), |it| (it.count, it.longest));
            let longest = longest.max(until.since(*from));
            self.stalls = Some(Stalls { count: count.saturating_add(1), longest, last: *until });
        }
        let Some(life) = &fact.life else { return };
        if let What::Unconnected { why } = &fact.what {
            let (life, why, since) = (life.clone(), why.clone(), fact.t);
            self.unconnected.insert(life.member.clone(), Unconnected { life, why, since });
        }
        if let What::Connected | What::Died { .. } = &fact.what
            && self.unconnected.get(&life.member).is_some_and(|lost| lost.life == *life)
        {
            self.unconnected.remove(&life.member);
        }
    }

    /// The stalls, where there were any.
    #[must_use]
    pub fn stalls(&self) -> Option<Stalls> {
        self.stalls
    }

    /// The members that cannot reach their brokers.
    pub fn unconnected(&self) -> impl Iterator<Item = &Unconnected> {
        self.unconnected.values()
    }
}
