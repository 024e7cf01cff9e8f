//! Why something may not be led: stalls of the host, brokers that are lost, members that reach
//! none.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::lasts;
use super::table::ms;
use crate::ids::{ClusterName, MemberId};
use crate::live::{Live, Stalls, Unconnected};
use crate::time::Mono;

/// For so long after a stall it is shown where people look first.
const LATELY_MS: f64 = 60_000.0;

/// What explains why something is not led.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReasonsPicture {
    /// Times of 100 ms and more in which the host did not let the controller run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StallsPicture>,
    /// Brokers that are lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brokers: Vec<LostPicture>,
    /// Members that cannot reach their brokers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<MemberId, UnconnectedPicture>,
}

/// Stalls of the host.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallsPicture {
    /// How many.
    pub count: u64,
    /// The longest, in milliseconds.
    pub ms_max: f64,
    /// How long ago the last one ended, in milliseconds.
    pub last_ms_ago: f64,
}

/// A broker that is lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostPicture {
    /// Its cluster.
    pub cluster: ClusterName,
    /// Its number and address.
    pub broker: String,
    /// For how long, in milliseconds.
    pub for_ms: f64,
}

/// A member that cannot reach its brokers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnconnectedPicture {
    /// What its client says.
    pub why: String,
    /// For how long, in milliseconds.
    pub for_ms: f64,
}

impl ReasonsPicture {
    /// What the live fold knows.
    pub(super) fn of(live: &Live, now: Mono) -> Self {
        let lost = |((cluster, broker), since): (&(ClusterName, String), Mono)| {
            let (cluster, broker) = (cluster.clone(), broker.clone());
            LostPicture { cluster, broker, for_ms: ms(now.since(since)) }
        };
        let unconnected = |lost: &Unconnected| {
            let (why, for_ms) = (lost.why.clone(), ms(now.since(lost.since)));
            (lost.life.member.clone(), UnconnectedPicture { why, for_ms })
        };
        let stalls = live.causes().stalls().map(|Stalls { count, longest, last }| StallsPicture {
            count,
            ms_max: ms(longest),
            last_ms_ago: ms(now.since(last)),
        });
        Self {
            stalls,
            brokers: live.brokers().lost().map(lost).collect(),
            members: live.causes().unconnected().map(unconnected).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Brokers and members that cannot be reached now, a line each.
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

    /// The stalls in a line, where there were any; those of the last minute alone if so wanted.
    pub(super) fn stalled(&self, lately: bool) -> Option<String> {
        let StallsPicture { count, ms_max, last_ms_ago } =
            self.stalls.filter(|stalls| !lately || stalls.last_ms_ago <= LATELY_MS)?;
        let last = lasts(last_ms_ago);
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        Some(format!("host stalled {times}, for up to {ms_max:.0} ms, last {last} ago"))
    }
}
