//! Groups that elect over ZooKeeper: the servers, the defaults, and what cannot be combined.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::elections::{exclusive, foreign_keys};
use super::places::Places;
use super::{Edges, Group, GroupSettings, Pace, Spec};
use crate::ids::GroupName;
use crate::time::Span;
use crate::yaml::Problem;

/// The settings of ZooKeeper's sample configuration, `tickTime` and `syncLimit`.
const TICK: Span = Span(Duration::from_secs(2));
const SYNC_LIMIT: u32 = 5;
/// `minSessionTimeout` and `maxSessionTimeout` of a server, in ticks, if its zoo.cfg has none.
const SESSION_TICKS: (u32, u32) = (2, 20);
/// The least session by default.
const SESSION: Duration = Duration::from_secs(2);
/// A member writes so many times in a session, and a claim must outlive so many writes.
const WRITES: u32 = 10;
const WRITES_LEAST: u32 = 3;
/// The part of a session that a member does not count, because two clocks may differ in their rate:
/// a hundredth.
const RATE: u32 = 100;

/// ZooKeeper 3.5 or later: its servers, and what their configuration says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Ensemble {
    /// The addresses of its servers: `host:port`, separated by commas.
    pub zookeeper: String,
    /// Their `tickTime`; default: 2s, as in ZooKeeper's sample configuration.
    #[serde(default = "tick")]
    pub tick: Span,
    /// Their `syncLimit`; default: 5, as in ZooKeeper's sample configuration; 0 for one server
    /// without others.
    #[serde(default = "sync_limit")]
    pub sync_limit: u32,
}

fn tick() -> Span {
    TICK
}

fn sync_limit() -> u32 {
    SYNC_LIMIT
}

impl Ensemble {
    pub(super) fn new(zookeeper: String, tick: Option<Span>, sync_limit: Option<u32>) -> Self {
        let (tick, sync_limit) = (tick.unwrap_or(TICK), sync_limit.unwrap_or(SYNC_LIMIT));
        Self { zookeeper, tick, sync_limit }
    }

    /// The sessions that the servers allow, if their configuration does not say otherwise.
    #[must_use]
    pub fn sessions(&self) -> (Span, Span) {
        let (least, most) = SESSION_TICKS;
        (Span(self.tick.get() * least), Span(self.tick.get() * most))
    }

    /// How long before a write the servers may count a session from: a server reports to the leader
    /// which sessions it has heard in its answers to the leader's pings, each half a tick, and is
    /// cut off when it has not answered for `syncLimit` ticks. One server hears all for itself.
    #[must_use]
    pub fn margin(&self) -> Duration {
        match self.sync_limit {
            0 => Duration::ZERO,
            limit => self.tick.get() * limit + self.tick.get() / 2,
        }
    }

    /// How late the end of a session is noticed: it is looked for once a tick, and the leader may
    /// have heard of the session half a tick after the member's server.
    pub(super) fn expiry_lag(&self) -> Duration {
        let reported = if self.sync_limit == 0 { Duration::ZERO } else { self.tick.get() / 2 };
        self.tick.get() + reported
    }
}

impl fmt::Display for Ensemble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sync_limit {
            0 => write!(f, "one server, tick {}", self.tick),
            limit => write!(f, "tick {}, sync limit {limit}", self.tick),
        }
    }
}

/// The pace of a group over ZooKeeper: a claim outlives the last write by the session, less its
/// part for the rate of clocks and what the servers need. If a server reports no more right after
/// it has answered that write, the leader has heard of the write before. What `defaults` say of
/// Kafka does not concern it.
pub(super) fn pace(settings: &GroupSettings, ensemble: &Ensemble) -> Pace {
    let margin = ensemble.margin();
    let usual = SESSION.max(ensemble.sessions().0.get()).max(2 * margin);
    let session = settings.session.map_or(usual, Span::get);
    let pace = exclusive(session, session / WRITES, RATE);
    let before = if margin.is_zero() { margin } else { margin + pace.heartbeat.get() };
    Pace { threshold: Span(pace.threshold.get().saturating_sub(before)), ..pace }
}

/// What the keys of such a group say against each other.
pub(super) fn problems(
    spec: &Spec,
    (group, settings): (&Group, &GroupSettings),
    ensemble: &Ensemble,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let others = [
        ("lease", "it belongs to `election: etcd`; this group has a `session`"),
        ("heartbeat", "a member writes ten times in a session"),
    ];
    let mut problems = foreign_keys(group, places.group(name), "elects over ZooKeeper", &others);
    let Pace { session, heartbeat, threshold, .. } = pace(settings, ensemble);
    if threshold.get() < heartbeat.get() * WRITES_LEAST || session.get().is_zero() {
        let margin = Span(ensemble.margin());
        let message = format!("a session of {session} is too short for its servers ({ensemble})");
        let hint = format!(
            "they may count it from {margin} before a write: twice that, or lower `tickTime` in \
             zoo.cfg and `tick` here; `sync_limit: 0` if it is one server"
        );
        let problem = Problem::at(places.setting(name, "session"), message);
        problems.push(problem.hint(hint));
    }
    if spec.edges == Edges::Proxied {
        let message = format!("edges speak Kafka, and group `{name}` elects over ZooKeeper");
        let problem = Problem::at(places.root().key("edges").origin(), message);
        problems.push(problem.hint("write `edges: direct`"));
    }
    problems
}
