//! What `partition`, `slow` and `protocol` have in common: what passes between members and brokers
//! is cut, held, slowed or answered by an edge.

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
use crate::topology::{Address, Bounds, Mode, Plan, PlannedGroup, RECONNECT, Terms};
use crate::wire::{COORDINATOR, DATA, api_name};
use crate::yaml::Problem;

/// What is said of a machine that can inject these.
pub(super) const ABLE: &str = "edges can stand between members and brokers";

/// What edges do to what passes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// For how long.
    pub lasts: Span,
    /// Between the victims and which brokers.
    pub from: Far,
    /// Which way.
    pub direction: Direction,
    /// Only these requests, by Kafka's numbers, and their answers; nothing said is every byte.
    pub apis: Option<BTreeSet<i16>>,
    /// What is done.
    pub effect: Effect,
}

/// The far side of a fault of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Far {
    /// All brokers of this cluster, which must be the victim's; its own where nothing is named.
    Cluster(Option<ClusterName>),
    /// The broker of this address in the victim's cluster.
    Address(String),
    /// The broker of this number in it.
    Node(i32),
    /// The broker that coordinates this group; the victim's own where nothing is named.
    Coordinator(Option<GroupName>),
    /// The broker that leads a role's partition.
    Leader {
        /// Which role; a seeded choice where nothing is named.
        role: Option<RoleName>,
        /// In the ledger of this group; of the victim's own where nothing is named.
        group: Option<GroupName>,
    },
}

/// The fields of a step, of all three.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    /// For how long.
    #[serde(rename = "for")]
    pub(super) lasts: Option<Span>,
    /// What becomes of what a partition, or a protocol fault, keeps from passing (default for a
    /// partition: `drop`).
    pub(super) behavior: Option<Behavior>,
    /// Which way (default: both).
    pub(super) direction: Option<Way>,
    /// Between the victims and which brokers: `{cluster: b}`, `{broker: "host:port"}` or its
    /// number, `{coordinator_of: GROUP}`, `{leader_of: ROLE, group: GROUP}` (default: all of
    /// the victim's own cluster).
    from: Option<FromSpec>,
    /// Only these requests and their answers: a list of names, `coordinator` or `data`.
    pub(super) apis: Option<Apis>,
    /// By how much everything is late, each way.
    pub(super) latency: Option<Span>,
    /// A uniform draw from nothing to this is added to the latency.
    pub(super) latency_jitter: Option<Span>,
    /// So much passes in a second, on each connection: `100kB/s`.
    rate: Option<Rate>,
    /// The error that brokers seem to answer: `NOT_COORDINATOR`, or its number.
    pub(super) error: Option<ErrorWord>,
}

impl Network {
    /// From the fields of a step; `effect` says what becomes of what passes.
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

    /// All bytes are lost, both ways, for so long.
    pub(super) fn cut(lasts: Span) -> Self {
        let (from, direction) = (Far::Cluster(None), Direction::Both);
        Self { lasts, from, direction, apis: None, effect: Effect::Drop }
    }

    /// What it costs where it is one of the two that are understood: members that no longer reach
    /// any broker, or no longer its coordinator. The victims' roles overlap as the bound says;
    /// those that move among the others, and back, as at a death.
    fn isolation(&self, bounds: &Bounds, one_broker: bool) -> Cost {
        let everything = one_broker || matches!(self.from, Far::Cluster(_));
        let cut = match self.effect {
            Effect::Drop | Effect::Stall | Effect::Reset => self.direction == Direction::Both,
            // Late is not lost, and what an error makes of a client is the client's own affair.
            Effect::Slow { .. } | Effect::Answer { .. } => false,
        };
        let known = Cost::of(bounds.cut_off());
        match &self.apis {
            None if cut && everything => known,
            // A member that hears on believes on, until its client gives up of itself.
            Some(apis)
                if cut
                    && (everything || matches!(self.from, Far::Coordinator(None)))
                    && COORDINATOR.iter().all(|api| apis.contains(api))
                    && !DATA.iter().any(|api| apis.contains(api)) =>
            {
                Cost { overlap: Duration::MAX, ..known }
            }
            None | Some(_) => UNKNOWN,
        }
    }

    /// How long a role has no leader where all members were cut off: each goes on believing for a
    /// threshold; what they had asked arrives late, and waits for its session to end.
    fn returned(&self, plan: &Plan, group: &PlannedGroup) -> Duration {
        let Some(cluster) = plan.clusters.get(&group.cluster) else { return Duration::ZERO };
        let terms = Terms::on(&group.pace, cluster);
        let again = terms.age + terms.takeover() + terms.handover();
        (self.lasts.get() + again).saturating_sub(terms.threshold)
    }

    /// How long after the first of its victims has joined again a group may still hand out its
    /// partitions anew: what moved then moves once more.
    fn again(&self, hit: &Hit<'_>) -> Duration {
        let bounds = &hit.group.bounds;
        match self.effect {
            // A join that was sent before arrives late, from a member that is gone: the group waits
            // for it until its session is over.
            Effect::Stall => bounds.kill.gap.high.get(),
            Effect::Drop | Effect::Reset if hit.target.is_one_member() => Duration::ZERO,
            Effect::Drop | Effect::Reset => RECONNECT + bounds.leave.gap.high.get(),
            // Nothing is bounded.
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
        let what = apis.as_deref().unwrap_or("what members and brokers say to each other");
        let becomes = match &self.effect {
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
        };
        format!("{what} {becomes}, for {}", self.lasts)
    }

    fn describe_undo(&self, _: Option<&Target>, _: &Plan) -> String {
        "the edges let everything pass again".to_owned()
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        let Hit { plan, group, .. } = hit;
        let back = group.bounds.restart.overlap.high.get();
        let again = self.again(hit);
        let mut fault = self.isolation(&group.bounds, one_broker(plan, group));
        if group.pace.mode == Mode::Fast {
            // What moves once more costs a gap in this mode, and no overlap.
            fault.gap = fault.gap.max(again.saturating_add(group.bounds.leave.gap.high.get()));
        }
        let again = again.min(back);
        hit.total(Price {
            fault,
            away: self.lasts.get(),
            unled: Some(self.returned(plan, group)),
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

/// What passes is lost, held, or cut off.
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

/// What passes is late.
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
