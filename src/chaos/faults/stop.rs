//! `stop`: a command makes a process end without leaving its group. The fleet starts it again.

use super::end::{By, End};
use super::{AnyFault, InStorm, Restart, Targets, Word, end, written};
use crate::observation::FaultClass;

pub(super) const WORD: Word = Word {
    name: "stop",
    noun: "stop",
    aliases: &[],
    class: FaultClass::Kills,
    targets: Targets::Members,
    fields: &["restart_after", "overlap_restart"],
    schema: written::schema::<end::Fields>,
    hint: end::hint,
    read: |written| Restart::read(written).map(stop),
    in_storm: Some(InStorm::Ends(stop)),
    permission: None,
    needs: &[],
    able: "members accept a command to end",
};

/// A command to end.
pub(super) fn stop(restart: Restart) -> AnyFault {
    let describe = "a command to end without leaving its group";
    AnyFault::Stop(End { describe, by: By::Stop, restart })
}
