//! `stop`: a process ends on an order, without leaving its group; it is started again.

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
    able: "members take an order to end",
};

/// An order to end.
pub(super) fn stop(restart: Restart) -> AnyFault {
    let describe = "an order to end without leaving its group";
    AnyFault::Stop(End { describe, by: By::Stop, restart })
}
