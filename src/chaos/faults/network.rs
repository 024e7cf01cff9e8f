//! What `partition`, `slow` and `protocol` have in common: an edge drops, holds, delays or answers
//! the traffic between members and brokers.

mod members;
mod ordered;
pub(super) mod shell;

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Fault, Written};
use crate::chaos::cost::{Cost, Hit, Price, UNKNOWN};
use crate::chaos::network_words::{Apis, Behavior, ErrorWord, Rate, Way};
use crate::chaos::reading::far;
use crate::chaos::spec::FromSpec;
use crate::chaos::{Injection, Target};
use crate::edge::{Direction, Effect};
use crate::ids::{ClusterName, GroupName, RoleName};
use crate::time::Span;
use crate::topology::{Address, Bounds, Mode, Plan, PlannedGroup, RECONNECT};
use crate::wire::{COORDINATOR, DATA, FETCH, api_name};
use crate::yaml::Problem;
use members::Members;

/// What `doctor` says of a machine that can inject these.
pub(super) const ABLE: &str = "edges can stand between members and brokers";

/// What edges do to the traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// How long the fault lasts.
    pub lasts: Span,
    /// The brokers that the victims are cut off from.
    pub from: Far,
    /// The direction.
    pub direction: Direction,
    /// Only these requests, by Kafka's API keys, and their responses; `None` means every byte.
    pub apis: Option<BTreeSet<i16>>,
    /// The effect.
    pub effect: Effect,
}

/// The brokers on the far side of a network fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Far {
    /// All brokers of this cluster, which must be the victim's; `None` means the victim's own.
    Cluster(Option<ClusterName>),
    /// The broker with this address in the victim's cluster.
    Address(String),
    /// The broker with this node id in the victim's cluster.
    Node(i32),
    /// The coordinator of this group; `None` means the victim's own group.
    Coordinator(Option<GroupName>),
    /// The broker that leads a role's partition.
    Leader {
        /// Which role; `None` means a seeded choice.
        role: Option<RoleName>,
        /// In the ledger of this group; `None` means the victim's own.
        group: Option<GroupName>,
    },
}

/// The fields of a step, for all three faults.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    /// How long the fault lasts.
    #[serde(rename = "for")]
    pub(super) lasts: Option<Span>,
    /// What happens to the traffic that a partition or a protocol fault stops (default for a
    /// partition: `drop`).
    pub(super) behavior: Option<Behavior>,
    /// The direction (default: both).
    pub(super) direction: Option<Way>,
    /// The brokers that the victims are cut off from: `{cluster: b}`, `{broker: "host:port"}` or
    /// its number, `{coordinator_of: GROUP}`, `{leader_of: ROLE, group: GROUP}` (default: all of
    /// the victim's own cluster).
    from: Option<FromSpec>,
    /// Only these requests and their responses: a list of names, `coordinator` or `data`.
    pub(super) apis: Option<Apis>,
    /// The delay in each direction.
    pub(super) latency: Option<Span>,
    /// A uniform draw from 0 to this is added to the latency.
    pub(super) latency_jitter: Option<Span>,
    /// The bandwidth of each connection: `100kB/s`.
    rate: Option<Rate>,
    /// The error that brokers appear to answer: `NOT_COORDINATOR`, or its number.
    pub(super) error: Option<ErrorWord>,
}

impl Network {
    /// Builds the fault from the fields of a step and its effect.
    pub(super) fn read(
        written: Written<'_>,
        effect: fn(&Fields, Written<'_>) -> Result<Effect, Problem>,
    ) -> Result<Self, Problem> {
        let fields: Fields = written.fields()?;
        let lasts = written.lasts(fields.lasts)?;
        if fields.apis.as_ref().is_some_and(|apis| apis.0.is_empty()) {
            return Err(Problem::at(written.value("apis"), "no request is named")
                .hint("leave it out to cut every byte"));
        }
        let from = match &fields.from {
            Some(from) => far(from, written.place.key("from"))?,
            None => Far::Cluster(None),
        };
        let effect = effect(&fields, written)?;
        let direction = match fields.direction.unwrap_or_default() {
            Way::Both => Direction::Both,
            Way::ToBroker => Direction::ToBroker,
            Way::ToMember => Direction::ToClient,
        };
        Ok(Self { lasts, from, direction, apis: fields.apis.map(|apis| apis.0), effect })
    }

    /// Whether it loses all traffic, which it also does to members that have no edges.
    pub(in crate::chaos) fn is_plain(&self) -> bool {
        let cut = Self::cut(self.lasts);
        *self == cut
    }

    /// Drops all bytes in both directions for this long.
    pub(super) fn cut(lasts: Span) -> Self {
        let (from, direction) = (Far::Cluster(None), Direction::Both);
        Self { lasts, from, direction, apis: None, effect: Effect::Drop }
    }

    /// What happens to what it hits.
    fn becomes(&self) -> String {
        match &self.effect {
            Effect::Drop => "is lost".to_owned(),
            Effect::Stall => "is held back".to_owned(),
            Effect::Reset => "ends with a reset of its connection".to_owned(),
            Effect::Slow { delay, jitter, bytes_per_second } => {
                let late = (!delay.get().is_zero() || !jitter.get().is_zero())
                    .then(|| format!("is late by {delay} to {}", Span(delay.get() + jitter.get())));
                let rate = bytes_per_second.map(|rate| format!("passes at {rate} B/s"));
                let both: Vec<String> = late.into_iter().chain(rate).collect();
                both.join(" and ")
            }
            Effect::Answer { code } => format!("is answered with Kafka's error {code}"),
        }
    }

    /// The cost of the two isolations that have a bound: members that cannot reach any broker, or
    /// not their coordinator. The victims' roles overlap as the bound says; roles that move among
    /// the others, and back, as at a death.
    fn isolation(&self, bounds: &Bounds, one_broker: bool) -> Cost {
        let everything = one_broker || matches!(self.from, Far::Cluster(_));
        let cut = match self.effect {
            Effect::Drop | Effect::Stall | Effect::Reset => self.direction == Direction::Both,
            // Delayed traffic is not lost, and how a client reacts to an error is up to the client.
            Effect::Slow { .. } | Effect::Answer { .. } => false,
        };
        let known = Cost::of(bounds.cut_off());
        match &self.apis {
            None if cut && everything => known,
            // A member that still receives messages keeps its claims until its client gives up.
            Some(apis)
                if cut
                    && (everything || matches!(self.from, Far::Coordinator(None)))
                    && COORDINATOR.iter().all(|api| apis.contains(api))
                    && !DATA.iter().any(|api| apis.contains(api)) =>
            {
                Cost { overlap: Duration::MAX, ..known }
            }
            None | Some(_) => self.silence(bounds, cut),
        }
    }

    /// The cost of members that reach their coordinator, and not the leader of a partition. If one
    /// broker is both, it is that of an isolation; which of a member's claims then end, and when,
    /// depends on what it still hears.
    fn silence(&self, bounds: &Bounds, cut: bool) -> Cost {
        let Some(silence) = bounds.silence.filter(|_| cut) else { return UNKNOWN };
        match (&self.from, &self.apis) {
            (_, Some(apis))
                if apis.contains(&FETCH) && apis.iter().all(|api| DATA.contains(api)) =>
            {
                Cost::of(silence)
            }
            (Far::Leader { .. }, None) => {
                let gap = silence.gap.high.get().max(bounds.isolation.gap.high.get());
                Cost { gap, ..UNKNOWN }
            }
            (_, _) => UNKNOWN,
        }
    }

    /// How long a role has no leader if all members were cut off: each keeps its claims for a
    /// threshold; a request delayed until the heal waits for its session to expire.
    fn returned(&self, hit: &Hit<'_>) -> Duration {
        let Some(terms) = hit.terms() else { return Duration::ZERO };
        let again = terms.age + terms.takeover() + terms.succession();
        (self.lasts.get() + again).saturating_sub(terms.threshold)
    }

    /// How long after its first victim has rejoined a group may still reassign its partitions; a
    /// role that moved then moves once more.
    fn again(&self, hit: &Hit<'_>) -> Duration {
        match self.effect {
            // A delayed join arrives from a member that is gone; the group waits until its session
            // has expired.
            Effect::Stall => hit.terms().map_or(Duration::ZERO, |terms| terms.takeover()),
            Effect::Drop | Effect::Reset if hit.target.is_one_member() => Duration::ZERO,
            Effect::Drop | Effect::Reset => RECONNECT + hit.succession(),
            // There is no bound to add to.
            Effect::Slow { .. } | Effect::Answer { .. } => Duration::ZERO,
        }
    }
}

impl Fault for Network {
    fn describe(&self) -> String {
        let apis = self.apis.as_ref().map(|apis| {
            let names: Vec<_> = apis.iter().map(|api| api_name(*api)).collect();
            names.join(", ")
        });
        let what = apis.as_deref().unwrap_or("the traffic between members and brokers");
        format!("{what} {}, for {}", self.becomes(), self.lasts)
    }

    fn describe_for(&self, target: Option<&Target>, plan: &Plan) -> String {
        let lasts = self.lasts;
        match members::among(target, plan) {
            Members::All => {
                let becomes = self.becomes();
                format!("all between its victims and the other members {becomes}, for {lasts}")
            }
            Members::Some(names) => {
                let first = self.describe();
                format!("{first}; in {names}, so is all between its victims and the other members")
            }
            Members::None => self.describe(),
        }
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        match members::undoing(target, plan) {
            Members::All => "the members let everything pass again".to_owned(),
            Members::Some(names) => {
                format!("the edges and the members of {names} let everything pass again")
            }
            Members::None => "the edges let everything pass again".to_owned(),
        }
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        let Hit { plan, group, .. } = hit;
        let back = group.bounds.restart.overlap.high.get();
        let again = self.again(hit);
        let mut fault = self.isolation(&group.bounds, one_broker(plan, group));
        if group.pace.mode != Mode::NonExclusive {
            // What moves once more costs a gap in these modes, and no overlap.
            fault.gap = fault.gap.max(again.saturating_add(hit.succession()));
        }
        let again = again.min(back);
        hit.total(Price {
            fault,
            away: self.lasts.get(),
            unled: Some(self.returned(hit)),
            moved: again,
            moved_soon: again + back,
        })
    }

    fn away(&self, _: Duration) -> Duration {
        self.lasts.get()
    }

    fn held(&self) -> Duration {
        self.lasts.get()
    }

    fn network(&self) -> Option<&Network> {
        Some(self)
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(shell::Shell(self.clone()))
    }
}

/// Reads the effect of a partition: lost, held, or reset.
pub(super) fn cut(
    behavior: Behavior,
    only_some: bool,
    written: Written<'_>,
) -> Result<Effect, Problem> {
    match behavior {
        Behavior::Drop => Ok(Effect::Drop),
        Behavior::Stall => Ok(Effect::Stall),
        Behavior::Reset if only_some => {
            let message = "a reset takes the whole connection, not some of its requests";
            Err(Problem::at(written.value("behavior"), message)
                .hint("`drop` or `stall`, or no `apis`"))
        }
        Behavior::Reset => Ok(Effect::Reset),
    }
}

/// Reads the effect of a slow network.
pub(super) fn slow(fields: &Fields, written: Written<'_>) -> Result<Effect, Problem> {
    if fields.latency_jitter.is_some() && fields.latency.is_none() {
        let message = "a `latency_jitter` is added to a `latency`";
        return Err(Problem::at(written.name("latency_jitter"), message)
            .hint("as in latency: 50ms, latency_jitter: 20ms"));
    }
    if fields.latency.is_none_or(|latency| latency.get().is_zero()) && fields.rate.is_none() {
        return Err(written
            .wrong(format!("a {} must say how slow", written.noun()))
            .hint("as in latency: 50ms, or rate: 100kB/s"));
    }
    Ok(Effect::Slow {
        delay: fields.latency.unwrap_or_default(),
        jitter: fields.latency_jitter.unwrap_or_default(),
        bytes_per_second: fields.rate.map(|rate| rate.0),
    })
}

fn one_broker(plan: &Plan, group: &PlannedGroup) -> bool {
    let address = plan.clusters.get(&group.cluster).map(|cluster| &cluster.address);
    matches!(address, Some(Address::Embedded) | None)
}
