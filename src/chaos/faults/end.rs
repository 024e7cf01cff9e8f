//! What `kill`, `leave`, `stop` and `host` have in common: members end, and the fleet starts them
//! again.

pub(super) mod shell;

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Fault, How, Written};
use crate::chaos::cost::{Cost, Hit, Price, START_UP};
use crate::chaos::{Injection, Target};
use crate::time::Span;
use crate::topology::Plan;
use crate::yaml::Problem;

/// The hint on the restart of a member that has left.
pub(super) const NOT_AWAITED: &str = "a group does not wait for a member that has left";
/// The hint on a fault without a duration.
const NO_END: &str = "say when the victim is started again: `restart_after`";

/// Members end, and come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// A sentence that describes the fault.
    pub(super) describe: &'static str,
    /// How the members are ended.
    pub(super) by: By,
    /// How the members come back.
    pub(super) restart: Restart,
}

/// How a process is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// SIGKILL. On a machine it also kills the brokers.
    Kill,
    /// SIGTERM.
    Leave,
    /// A command to end.
    Stop,
}

/// How the victims come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Replaces the topology's restart.
    pub after: Option<Span>,
    /// The restart may come before the dead member's session has expired, or there is no session to
    /// wait for.
    pub overlaps: bool,
}

/// The fields of a step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    /// When the victims of a kill are started again (default: the topology's restart); when a
    /// broker is (default: 5s).
    restart_after: Option<Span>,
    /// Whether the restart may come before the dead member's session has expired; the group then
    /// waits for the rest of that session.
    #[serde(default)]
    overlap_restart: bool,
}

impl Restart {
    pub(super) fn read(written: Written<'_>) -> Result<Self, Problem> {
        written.fields::<Fields>().map(Self::from)
    }

    /// How long the victims are away.
    pub(super) fn away(self, usual: Duration) -> Duration {
        self.after.map_or(usual, Span::get)
    }

    /// How the brokers of a dying machine fail, and for how long.
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
        "overlap_restart" => Some(NOT_AWAITED),
        other => hint(other),
    }
}

impl Fault for End {
    fn describe(&self) -> String {
        self.describe.to_owned()
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        undo(self.by, self.restart, target, plan)
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        let bounds = &hit.group.bounds;
        let away = self.restart.away(hit.usual_restart());
        hit.total(Price {
            fault: Cost::of(if self.by == By::Leave { bounds.leave } else { bounds.kill }),
            away,
            unled: Some(away + START_UP),
            moved: Duration::ZERO,
            moved_soon: bounds.restart.overlap.high.get(),
        })
    }

    fn away(&self, usual: Duration) -> Duration {
        self.restart.away(usual)
    }

    fn restart(&self) -> Option<Restart> {
        Some(self.restart)
    }

    fn of_brokers(&self) -> Option<(How, Span)> {
        (self.by == By::Kill).then(|| self.restart.of_brokers())
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(shell::Shell(self.by))
    }
}

/// Describes how an end is undone.
pub(super) fn undo(by: By, restart: Restart, target: Option<&Target>, plan: &Plan) -> String {
    let groups = target.map(|target| target.manned(plan)).unwrap_or_default();
    let planned = groups.iter().filter_map(|name| plan.groups.get(name));
    let planned = planned.map(|group| group.restart_after).max();
    let after = restart.after.or(planned).unwrap_or_default();
    let gone = if by == By::Leave { "left" } else { "died" };
    let members = format!("a member that {gone} is started again after {after}");
    if by == By::Kill && takes_brokers(target, plan) {
        let (_, away) = restart.of_brokers();
        return format!(
            "{members}, brokers after {away}, at the same address, and their topics made again; \
             healed once all are back"
        );
    }
    members
}

/// Whether a machine among the possible targets has a broker.
fn takes_brokers(target: Option<&Target>, plan: &Plan) -> bool {
    let hosts = match target {
        Some(target @ Target::Machine(_)) => target.hosts(plan),
        Some(_) | None => BTreeSet::new(),
    };
    hosts.iter().any(|host| !plan.clusters_on(host).is_empty())
}
