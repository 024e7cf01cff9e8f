//! `leave`: SIGTERM, upon which a member leaves its group, stops leading and ends; it is started
//! again.

use std::time::Duration;

use super::end::shell::{By, End};
use super::{AnyFault, Fault, InStorm, Need, Restart, Targets, Word, end, written};
use crate::chaos::cost::{Cost, Hit};
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "leave",
    noun: "leave",
    aliases: &["term"],
    class: FaultClass::Leaves,
    targets: Targets::Members,
    fields: &["restart_after"],
    schema: written::schema::<end::Fields>,
    hint: end::hint_of_leave,
    read: |written| Restart::read(written).map(|restart| Leave::new(restart).into()),
    in_storm: Some(InStorm::Ends(|restart| AnyFault::from(Leave::new(restart)))),
    permission: None,
    needs: &[Need::Kill],
    able: "",
};

/// SIGTERM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leave {
    restart: Restart,
}

impl Leave {
    /// One that comes back like this.
    pub(super) fn new(restart: Restart) -> Self {
        Self { restart: restart.left() }
    }
}

impl Fault for Leave {
    fn describe(&self) -> String {
        "SIGTERM: it leaves its group, stops leading, and ends".to_owned()
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        end::undo("left", self.restart, None, target, plan)
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        end::cost(hit.group.bounds.leave, self.restart, hit)
    }

    fn away(&self, usual: Duration) -> Duration {
        self.restart.away(usual)
    }

    fn restart(&self) -> Option<Restart> {
        Some(self.restart)
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(End(By::Leave))
    }
}
