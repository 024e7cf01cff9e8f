//! `kill`: SIGKILL, which a process cannot handle. The fleet starts it again.

use super::end::{By, End};
use super::{AnyFault, InStorm, Need, Restart, Targets, Word, end, written};
use crate::observation::FaultClass;

pub(super) const WORD: Word = Word {
    name: "kill",
    noun: "kill",
    aliases: &[],
    class: FaultClass::Kills,
    targets: Targets::Processes,
    fields: &["restart_after", "overlap_restart"],
    schema: written::schema::<end::Fields>,
    hint: end::hint,
    read: |written| Restart::read(written).map(kill),
    in_storm: Some(InStorm::Ends(kill)),
    permission: None,
    needs: &[Need::Kill],
    able: "",
};

fn kill(restart: Restart) -> AnyFault {
    AnyFault::Kill(End { describe: "SIGKILL", by: By::Kill, restart })
}
