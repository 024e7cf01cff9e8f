//! `stop`: a process is told to end, and does so without leaving its group; it is started again.

use std::time::Duration;

use super::end::shell::{By, End};
use super::{AnyFault, Fault, InStorm, Restart, Targets, Word, end, written};
use crate::chaos::cost::{Cost, Hit};
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "stop",
    noun: "stop",
    aliases: &[],
    class: FaultClass::Kills,
    targets: Targets::Members,
    fields: &["restart_after", "overlap_restart"],
    schema: written::schema::<end::Fields>,
    hint: end::hint,
    read: |written| Restart::read(written).map(|restart| Stop { restart }.into()),
    in_storm: Some(InStorm::Ends(|restart| AnyFault::from(Stop { restart }))),
    permission: None,
    needs: &[],
    able: "members are told to end",
};

/// An order to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub(super) restart: Restart,
}

impl Fault for Stop {
    fn describe(&self) -> String {
        "it is told to end without leaving its group".to_owned()
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        end::undo("died", self.restart, None, target, plan)
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

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(End(By::Stop))
    }
}
