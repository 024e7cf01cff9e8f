//! Causes of gaps other than faults, deaths and stops: host stalls, and members that cannot reach
//! a broker.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem_facts::ids::{Life, MemberId};
use tandem_facts::observation::{ClockDomain, Fact, MemberEvent, RunEvent, What};
use tandem_facts::time::Mono;

/// The shortest stall that is shown. A shorter one causes no gap, because a duty may be silent for
/// as long.
pub const STALL_LEAST: Duration = Duration::from_millis(100);

/// The stalls that are long enough to cause a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// Their number.
    pub count: u64,
    /// The longest.
    pub longest: Duration,
    /// When the last one ended.
    pub last: Mono,
}

/// A member that cannot reach its brokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unconnected {
    /// The life.
    pub life: Life,
    /// The error of its client.
    pub why: String,
    /// Since when.
    pub since: Mono,
}

/// A member that left its group because of the versions of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The life.
    pub life: Life,
    /// Both versions, in words.
    pub why: String,
    /// When.
    pub at: Mono,
}

/// The current causes.
#[derive(Debug, Clone, Default)]
pub struct Causes {
    stalls: Option<Stalls>,
    unconnected: BTreeMap<MemberId, Unconnected>,
    refused: BTreeMap<MemberId, Refused>,
    elsewhere: BTreeMap<MemberId, (Life, ClockDomain)>,
    compared: BTreeMap<MemberId, (Life, ClockDomain, Duration)>,
}

impl Causes {
    pub(super) fn observe(&mut self, fact: &Fact) {
        if let What::Run(RunEvent::Stall { from, until, .. }) = &fact.what
            && until.since(*from) >= STALL_LEAST
        {
            let (count, longest) =
                self.stalls.map_or((0, Duration::ZERO), |it| (it.count, it.longest));
            let longest = longest.max(until.since(*from));
            self.stalls = Some(Stalls { count: count.saturating_add(1), longest, last: *until });
        }
        let Some(life) = &fact.life else { return };
        if let What::Member(MemberEvent::Unconnected { why }) = &fact.what {
            let (life, why, since) = (life.clone(), why.clone(), fact.t);
            self.unconnected.insert(life.member.clone(), Unconnected { life, why, since });
        }
        if let What::Member(MemberEvent::Refused { why }) = &fact.what {
            let (life, why, at) = (life.clone(), why.clone(), fact.t);
            self.refused.insert(life.member.clone(), Refused { life, why, at });
        }
        if let What::Run(RunEvent::Started { external, .. }) = &fact.what {
            let member = &life.member;
            self.elsewhere.remove(member);
            self.compared.remove(member);
            if let Some(of) = external.as_ref().filter(|external| !external.same_clock) {
                let (life, clock) = (life.clone(), of.clock.clone());
                match of.error() {
                    Some(error) => {
                        drop(self.compared.insert(member.clone(), (life, clock, error)));
                    }
                    None => drop(self.elsewhere.insert(member.clone(), (life, clock))),
                }
            }
        }
        if let What::Run(RunEvent::Died { .. }) = &fact.what {
            self.elsewhere.retain(|_, (one, _)| one != life);
            self.compared.retain(|_, (one, _, _)| one != life);
        }
        if let What::Member(MemberEvent::Connected) | What::Run(RunEvent::Died { .. }) = &fact.what
            && self.unconnected.get(&life.member).is_some_and(|lost| lost.life == *life)
        {
            self.unconnected.remove(&life.member);
        }
    }

    /// The stalls, if there were any.
    #[must_use]
    pub fn stalls(&self) -> Option<Stalls> {
        self.stalls
    }

    /// The members whose clock is another one that was compared with that of the run, and how far
    /// their instants may be off.
    pub fn compared(&self) -> impl Iterator<Item = (&MemberId, &ClockDomain, Duration)> {
        self.compared.iter().map(|(member, (_, clock, error))| (member, clock, *error))
    }

    /// The members whose clock is not that of the run and was not compared, so that their time is
    /// unknown.
    pub fn elsewhere(&self) -> impl Iterator<Item = (&MemberId, &ClockDomain)> {
        self.elsewhere.iter().map(|(member, (_, clock))| (member, clock))
    }

    /// The last refusal of each member.
    pub fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.refused.values()
    }

    /// The members that cannot reach their brokers.
    pub fn unconnected(&self) -> impl Iterator<Item = &Unconnected> {
        self.unconnected.values()
    }
}
