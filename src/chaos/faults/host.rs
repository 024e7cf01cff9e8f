//! `host`: a machine dies. SIGKILL to everything that bears its label: members of whatever group,
//! and embedded brokers.

use std::time::Duration;

use super::end::shell::{By, End};
use super::{Fault, How, Need, Restart, Targets, Word, end, written};
use crate::chaos::cost::{Cost, Hit};
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "host",
    noun: "host fault",
    aliases: &[],
    class: FaultClass::Kills,
    targets: Targets::Machine,
    fields: &["restart_after", "overlap_restart"],
    schema: written::schema::<end::Fields>,
    hint: end::hint,
    read: |written| Restart::read(written).map(|restart| Host { restart }.into()),
    in_storm: None,
    permission: None,
    needs: &[Need::Kill],
    able: "",
};

/// SIGKILL, to all on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    restart: Restart,
}

impl Fault for Host {
    fn describe(&self) -> String {
        "SIGKILL to everything on the machine".to_owned()
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        end::undo("died", self.restart, self.of_brokers(), target, plan)
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        end::cost(hit.group.bounds.kill, self.restart, hit)
    }

    fn away(&self, usual: Duration) -> Duration {
        self.restart.away(usual)
    }

    fn restart(&self) -> Option<Restart> {
        Some(self.restart)
    }

    fn of_brokers(&self) -> Option<(How, Span)> {
        Some(self.restart.of_brokers())
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(End(By::Kill))
    }
}
