//! Possible reasons why roles are not led: stalls of the host, lost brokers, and members that
//! cannot reach their brokers.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Happening;
use super::lines::lasts;
use super::table::ms;
use crate::ids::{ClusterName, Life, MemberId};
use crate::observation::{Fact, What};
use crate::time::Mono;

/// The shortest stall that is shown. A shorter one causes no gap, because a duty may be silent for
/// as long.
pub const STALL_LEAST: Duration = Duration::from_millis(100);
/// How long after a stall the terminal shows it.
const LATELY_MS: f64 = 60_000.0;

/// The current reasons, updated fact by fact.
#[derive(Debug, Clone, Default)]
pub(super) struct Reasons {
    /// The number of stalls, the longest, and when the last one ended.
    stalls: Option<(u64, Duration, Mono)>,
    lost: BTreeMap<(ClusterName, String), Mono>,
    unconnected: BTreeMap<MemberId, (Life, String, Mono)>,
}

/// Possible reasons why roles are not led.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReasonsPicture {
    /// Stalls: the host did not schedule the controller for 100 ms or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StallsPicture>,
    /// Lost brokers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brokers: Vec<LostPicture>,
    /// Members that cannot reach their brokers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<MemberId, UnconnectedPicture>,
}

/// Stalls of the host.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallsPicture {
    /// The number of stalls.
    pub count: u64,
    /// The longest, in milliseconds.
    pub ms_max: f64,
    /// How long ago the last one ended, in milliseconds.
    pub last_ms_ago: f64,
}

/// A lost broker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostPicture {
    /// Its cluster.
    pub cluster: ClusterName,
    /// Its node id and address.
    pub broker: String,
    /// How long it has been lost, in milliseconds.
    pub for_ms: f64,
}

/// A member that cannot reach its brokers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnconnectedPicture {
    /// The error of its client.
    pub why: String,
    /// How long it has been so, in milliseconds.
    pub for_ms: f64,
}

impl Reasons {
    /// Takes a fact. Returns the event that it makes, if it changes a reason.
    pub(super) fn take(&mut self, fact: &Fact) -> Option<Happening> {
        if let What::Stall { from, until, .. } = &fact.what {
            let length = until.since(*from);
            let (count, longest, _) = self.stalls.unwrap_or((0, Duration::ZERO, Mono::ZERO));
            if length < STALL_LEAST {
                return None;
            }
            self.stalls = Some((count.saturating_add(1), longest.max(length), *until));
            return Some(Happening::Stalled { ms: ms(length) });
        }
        if let What::BrokerLost { cluster, broker } = &fact.what {
            self.lost.insert((cluster.clone(), broker.clone()), fact.t);
            let (cluster, broker) = (cluster.clone(), broker.clone());
            return Some(Happening::BrokerLost { cluster, broker });
        }
        if let What::BrokerBack { cluster, broker } = &fact.what {
            self.lost.remove(&(cluster.clone(), broker.clone()));
            let (cluster, broker) = (cluster.clone(), broker.clone());
            return Some(Happening::BrokerBack { cluster, broker });
        }
        self.take_of_member(fact, fact.life.as_ref()?)
    }

    fn take_of_member(&mut self, fact: &Fact, life: &Life) -> Option<Happening> {
        if let What::Unconnected { why } = &fact.what {
            let lost = (life.clone(), why.clone(), fact.t);
            self.unconnected.insert(life.member.clone(), lost);
            return Some(Happening::Unconnected { life: life.clone(), why: why.clone() });
        }
        let gone = matches!(fact.what, What::Connected | What::Died { .. });
        let same = self.unconnected.get(&life.member).is_some_and(|(lost, ..)| lost == life);
        if gone && same {
            self.unconnected.remove(&life.member);
        }
        (fact.what == What::Connected).then(|| Happening::Connected { life: life.clone() })
    }

    /// The reasons at `now`.
    pub(super) fn picture(&self, now: Mono) -> ReasonsPicture {
        let lost = |((cluster, broker), since): (&(ClusterName, String), &Mono)| {
            let (cluster, broker) = (cluster.clone(), broker.clone());
            LostPicture { cluster, broker, for_ms: ms(now.since(*since)) }
        };
        let unconnected = |(member, (_, why, since)): (&MemberId, &(Life, String, Mono))| {
            let (why, for_ms) = (why.clone(), ms(now.since(*since)));
            (member.clone(), UnconnectedPicture { why, for_ms })
        };
        let stalls = self.stalls.map(|(count, longest, last)| StallsPicture {
            count,
            ms_max: ms(longest),
            last_ms_ago: ms(now.since(last)),
        });
        ReasonsPicture {
            stalls,
            brokers: self.lost.iter().map(lost).collect(),
            members: self.unconnected.iter().map(unconnected).collect(),
        }
    }
}

impl ReasonsPicture {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// One line for each lost broker and each unconnected member.
    pub(super) fn urgent(&self) -> impl Iterator<Item = String> + '_ {
        let brokers = self.brokers.iter().map(|lost| {
            let LostPicture { cluster, broker, for_ms } = lost;
            format!("broker {broker} of cluster {cluster}: lost for {}", lasts(*for_ms))
        });
        let members = self.members.iter().map(|(member, lost)| {
            let UnconnectedPicture { why, for_ms } = lost;
            format!("{member} has not reached its brokers for {}: {why}", lasts(*for_ms))
        });
        brokers.chain(members)
    }

    /// One line about the stalls, if there were any; with `lately`, only if the last one ended
    /// within the last minute.
    pub(super) fn stalled(&self, lately: bool) -> Option<String> {
        let StallsPicture { count, ms_max, last_ms_ago } =
            self.stalls.filter(|stalls| !lately || stalls.last_ms_ago <= LATELY_MS)?;
        let last = lasts(last_ms_ago);
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        Some(format!("host stalled {times}, for up to {ms_max:.0} ms, last {last} ago"))
    }
}
