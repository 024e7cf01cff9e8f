//! `broker`: kills, stops or pauses brokers. Faults of a machine do the same to its brokers if they
//! say so in [`Fault::of_brokers`].

pub(in crate::chaos) mod shell;

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{AnyFault, Fault, Need, Targets, Word, Written, written};
use crate::chaos::cost::{Cost, Hit, Price};
use crate::chaos::{Injection, NoInjection, Target};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::{Address, Bound, Plan, Recall, Terms, outage_bound};
use crate::yaml::{Problem, choices};

/// How long a killed or stopped broker is away by default: longer than a broker takes to be
/// replaced, and too short for a disk to fill.
pub(super) const RESTART: Span = Span::ms(5_000);

pub(super) const WORD: Word = Word {
    name: "broker",
    noun: "broker fault",
    aliases: &[],
    class: FaultClass::Brokers,
    targets: Targets::Brokers,
    fields: &["how", "restart_after", "for"],
    schema: written::schema::<Fields>,
    hint: |field| (field == "overlap_restart").then_some("it restarts brokers, not members"),
    read,
    in_storm: None,
    permission: None,
    needs: &[Need::Kill, Need::Stop, Need::Brokers],
    able: "",
};

/// The fields of a step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// How the broker fails: `kill` (default), `stop` for an orderly shutdown, `pause`.
    how: Option<How>,
    /// When the broker is started again.
    restart_after: Option<Span>,
    /// How long the broker is paused.
    #[serde(rename = "for")]
    lasts: Option<Span>,
}

/// Brokers die or are paused, and come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// How they fail.
    pub how: How,
    /// How long they are away, until they are started again or continued.
    pub away: Span,
}

/// How a broker fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum How {
    /// SIGKILL.
    #[default]
    Kill,
    /// SIGTERM: an orderly shutdown.
    Stop,
    /// SIGSTOP, and SIGCONT later.
    Pause,
}

impl Fault for Broker {
    fn describe(&self) -> String {
        match self.how {
            How::Kill => "SIGKILL".to_owned(),
            How::Stop => "SIGTERM: an orderly shutdown".to_owned(),
            How::Pause => format!("SIGSTOP, for {}", self.away),
        }
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        if self.how == How::Pause {
            return "SIGCONT; it is over when they serve again".to_owned();
        }
        let again = format!("started again after {}, at the same address", self.away);
        let embedded = target.is_some_and(|target| any_embedded(target, plan));
        let topics = if embedded { ", and their topics made again" } else { "" };
        format!("{again}{topics}; it is over when they serve")
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        hit.total(Price {
            fault: Cost::of(self.outage(hit)),
            away: self.away.get(),
            unled: None,
            moved: Duration::ZERO,
            moved_soon: Duration::ZERO,
        })
    }

    fn away(&self, _: Duration) -> Duration {
        self.away.get()
    }

    /// Claims outlive their brokers, so the cost begins later than the fault.
    fn held(&self) -> Duration {
        self.away.get()
    }

    fn of_brokers(&self) -> Option<(How, Span)> {
        Some((self.how, self.away))
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(NoInjection)
    }
}

impl Broker {
    /// What the loss of brokers costs: a failover if others take over; if no broker is left, the
    /// whole time until the cluster serves again.
    fn outage(&self, hit: &Hit<'_>) -> Bound {
        let Hit { target, plan, group, .. } = hit;
        let Some(cluster) = plan.clusters.get(&group.cluster) else { return group.bounds.broker };
        let all = matches!(target, Target::Brokers { .. }) || cluster.is_alone();
        if !all {
            return group.bounds.broker;
        }
        let (away, terms) = (self.away.get(), Terms::on(&group.pace, group.replication, cluster));
        let embedded = cluster.address == Address::Embedded;
        let (down, recall) = match self.how {
            How::Kill | How::Stop if embedded => (away + terms.start_up, Recall::Nothing),
            How::Kill | How::Stop => (away + terms.start_up, Recall::Reads),
            // A paused broker of a larger cluster wakes up fenced.
            How::Pause if embedded => (away + terms.failover, Recall::All),
            How::Pause => (away + terms.failover, Recall::Reads),
        };
        outage_bound(&terms, down, recall)
    }
}

/// A broker that ends comes back by its restart, a paused one after `for`.
fn read(written: Written<'_>) -> Result<AnyFault, Problem> {
    let fields: Fields = written.fields()?;
    let how = fields.how.unwrap_or_default();
    let other = |key: &str, message: &str, hint: &str| {
        Err(Problem::at(written.name(key), message).hint(hint))
    };
    let away = match how {
        How::Kill | How::Stop if fields.lasts.is_some() => {
            return other(
                "for",
                "a killed or stopped broker has no `for`",
                "say when it is started again: `restart_after`",
            );
        }
        How::Kill | How::Stop => fields.restart_after.unwrap_or(RESTART),
        How::Pause if fields.restart_after.is_some() => {
            return other("restart_after", "a paused broker is not restarted", "say `for`");
        }
        How::Pause => written.lasts(fields.lasts)?,
    };
    Ok(AnyFault::Broker(Broker { how, away }))
}

fn any_embedded(target: &Target, plan: &Plan) -> bool {
    target.groups(plan).iter().any(|name| {
        let cluster = plan.groups.get(name).and_then(|group| plan.clusters.get(&group.cluster));
        cluster.is_some_and(|cluster| cluster.address == Address::Embedded)
    })
}

const HOWS: [(&str, How); 3] = [("kill", How::Kill), ("stop", How::Stop), ("pause", How::Pause)];

impl<'de> Deserialize<'de> for How {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let how = HOWS.iter().find(|(name, _)| *name == word).map(|(_, how)| *how);
        how.ok_or_else(|| {
            let hint = choices(&word, HOWS.map(|(name, _)| name));
            D::Error::custom(format!("a broker fault cannot `{word}`\n{hint}"))
        })
    }
}

impl JsonSchema for How {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "How".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": HOWS.map(|(name, _)| name)})
    }
}
