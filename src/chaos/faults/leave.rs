//! `leave`: SIGTERM, on which a member leaves its group, stops leading and ends. The fleet starts
//! it again.

use super::end::{By, End};
use super::{AnyFault, InStorm, Need, Restart, Targets, Word, end, written};
use crate::observation::FaultClass;

pub(super) const WORD: Word = Word {
    name: "leave",
    noun: "leave",
    aliases: &["term"],
    class: FaultClass::Leaves,
    targets: Targets::Members,
    fields: &["restart_after"],
    schema: written::schema::<end::Fields>,
    hint: end::hint_of_leave,
    read: |written| Restart::read(written).map(leave),
    in_storm: Some(InStorm::Ends(leave)),
    permission: None,
    needs: &[Need::Kill],
    able: "",
};

/// SIGTERM. A group does not wait for a member that has left, so the restart may overlap.
pub(super) fn leave(restart: Restart) -> AnyFault {
    let restart = Restart { overlaps: true, ..restart };
    let describe = "SIGTERM: it leaves its group, stops leading, and ends";
    AnyFault::Leave(End { describe, by: By::Leave, restart })
}
