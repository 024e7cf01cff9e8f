//! Possible reasons why roles are not led: stalls of the host, lost brokers, members that cannot
//! reach their brokers or do not work with their group, and members with a clock that was not
//! compared.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::lasts;
use super::table::ms;
use crate::ids::{ClusterName, MemberId};
use crate::live::{Live, Refused, Stalls, Unconnected};
use crate::time::Mono;

/// How long after a stall the terminal shows it, and all pages a refusal: a member that is refused
/// is started again each second.
const LATELY_MS: f64 = 60_000.0;

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
    /// Members that left their group within the last minute because they do not work with the
    /// versions of the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<MemberId, RefusedPicture>,
    /// Members that Tandem did not start and that have another clock than this process, which could
    /// not be compared with its own (yet): their time is unknown. The value is their clock.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere: BTreeMap<MemberId, String>,
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

/// A member that left its group because of the versions of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedPicture {
    /// Both versions, in words.
    pub why: String,
    /// How long ago it last did, in milliseconds.
    pub ms_ago: f64,
}

impl ReasonsPicture {
    /// The reasons at `now`.
    pub(super) fn of(live: &Live, now: Mono) -> Self {
        let lost = |((cluster, broker), since): (&(ClusterName, String), Mono)| {
            let (cluster, broker) = (cluster.clone(), broker.clone());
            LostPicture { cluster, broker, for_ms: ms(now.since(since)) }
        };
        let unconnected = |lost: &Unconnected| {
            let (why, for_ms) = (lost.why.clone(), ms(now.since(lost.since)));
            (lost.life.member.clone(), UnconnectedPicture { why, for_ms })
        };
        let refused = |one: &Refused| {
            let (why, ms_ago) = (one.why.clone(), ms(now.since(one.at)));
            (one.life.member.clone(), RefusedPicture { why, ms_ago })
        };
        let refused = live.causes().refused().map(refused);
        let stalls = live.causes().stalls().map(|Stalls { count, longest, last }| StallsPicture {
            count,
            ms_max: ms(longest),
            last_ms_ago: ms(now.since(last)),
        });
        Self {
            stalls,
            brokers: live.brokers().lost().map(lost).collect(),
            members: live.causes().unconnected().map(unconnected).collect(),
            refused: refused.filter(|(_, one)| one.ms_ago <= LATELY_MS).collect(),
            elsewhere: live
                .causes()
                .elsewhere()
                .map(|(member, clock)| (member.clone(), clock.to_string()))
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// One line for each lost broker, each unconnected or refused member, and each with another
    /// clock.
    pub(super) fn urgent(&self) -> impl Iterator<Item = String> + '_ {
        let brokers = self.brokers.iter().map(|lost| {
            let LostPicture { cluster, broker, for_ms } = lost;
            format!("broker {broker} of cluster {cluster}: lost for {}", lasts(*for_ms))
        });
        let members = self.members.iter().map(|(member, lost)| {
            let UnconnectedPicture { why, for_ms } = lost;
            format!("{member} has not reached its brokers for {}: {why}", lasts(*for_ms))
        });
        let refused = self.refused.iter().map(|(member, one)| {
            let RefusedPicture { why, ms_ago } = one;
            format!("{member} left its group {} ago: {why}", lasts(*ms_ago))
        });
        let elsewhere = self.elsewhere.iter().map(|(member, clock)| {
            format!("{member} has another clock ({clock}), not compared: what it does is unknown")
        });
        brokers.chain(members).chain(refused).chain(elsewhere)
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
