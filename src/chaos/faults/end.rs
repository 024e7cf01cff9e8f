//! What `kill`, `leave`, `stop` and `host` have in common: members end, and the fleet starts them
//! again.

pub(super) mod shell;

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{How, Written};
use crate::chaos::Target;
use crate::chaos::cost::{Cost, Hit, Price, START_UP};
use crate::time::Span;
use crate::topology::{Bound, Plan};
use crate::yaml::Problem;

/// What is said of one that does not last.
const NO_END: &str = "it ends with the restart: see `restart_after`";

/// How those that ended come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Replaces the topology's restart.
    pub after: Option<Span>,
    /// It may come before the dead one's session is over, or there is none to wait for.
    pub overlaps: bool,
}

/// The fields of a step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    /// When the victims of a kill are started again, as the topology says unless given; when a
    /// broker is, 5s unless given.
    restart_after: Option<Span>,
    /// Whether the restart may come before the dead one's session is over: the group then waits for
    /// the rest of that session.
    #[serde(default)]
    overlap_restart: bool,
}

impl Restart {
    pub(super) fn read(written: Written<'_>) -> Result<Self, Problem> {
        written.fields::<Fields>().map(Self::from)
    }

    /// For how long who ended is away.
    pub(super) fn away(self, usual: Duration) -> Duration {
        self.after.map_or(usual, Span::get)
    }

    /// The same, of one that leaves: it is waited for by nobody.
    pub(super) fn left(self) -> Self {
        Self { overlaps: true, ..self }
    }

    /// What becomes of the brokers of a machine that dies.
    pub(super) fn of_brokers(self) -> (How, Span) {
        (How::Kill, self.after.unwrap_or(super::broker::RESTART))
    }
}

impl From<Fields> for Restart {
    fn from(fields: Fields) -> Self {
        Self { after: fields.restart_after, overlaps: fields.overlap_restart }
    }
}

pub(super) fn hint(field: &str) -> Option<&'static str> {
    (field == "for").then_some(NO_END)
}

pub(super) fn hint_of_leave(field: &str) -> Option<&'static str> {
    match field {
        "overlap_restart" => Some("who has left is waited for by nobody"),
        other => hint(other),
    }
}

/// What an end costs that this is the bound of.
pub(super) fn cost(bound: Bound, restart: Restart, hit: &Hit<'_>) -> Cost {
    let away = restart.away(hit.usual_restart());
    let back = hit.group.bounds.restart.overlap.high.get();
    hit.total(Price {
        fault: Cost::of(bound),
        away,
        nobody: Some(away + START_UP),
        moved: Duration::ZERO,
        moved_soon: back,
    })
}

/// How an end is undone; `gone` says what they did.
pub(super) fn undo(
    gone: &str,
    restart: Restart,
    brokers: Option<(How, Span)>,
    target: Option<&Target>,
    plan: &Plan,
) -> String {
    let groups = target.map(|target| target.manned(plan)).unwrap_or_default();
    let planned = groups.iter().filter_map(|name| plan.groups.get(name));
    let planned = planned.map(|group| group.restart_after).max();
    let after = restart.after.or(planned).unwrap_or_default();
    let members = format!("whoever {gone} is started again after {after}");
    match brokers.filter(|_| takes_brokers(target, plan)) {
        Some((_, away)) => format!(
            "{members}, brokers after {away}, at the same address, and their topics made again; \
             it is over when all are there"
        ),
        None => members,
    }
}

/// Whether a machine that it can hit has a broker.
fn takes_brokers(target: Option<&Target>, plan: &Plan) -> bool {
    let hosts = match target {
        Some(target @ Target::Machine(_)) => target.hosts(plan),
        Some(_) | None => BTreeSet::new(),
    };
    hosts.iter().any(|host| !plan.clusters_on(host).is_empty())
}
