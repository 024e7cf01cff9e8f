//! `host`: a machine dies. SIGKILL to every process with its label: members of all groups, and
//! embedded brokers.

use super::end::{By, End};
use super::{AnyFault, Need, Restart, Targets, Word, end, written};
use crate::observation::FaultClass;

pub(super) const WORD: Word = Word {
    name: "host",
    noun: "host fault",
    aliases: &[],
    class: FaultClass::Kills,
    targets: Targets::Machine,
    fields: &["restart_after", "overlap_restart"],
    schema: written::schema::<end::Fields>,
    hint: end::hint,
    read: |written| Restart::read(written).map(host),
    in_storm: None,
    permission: None,
    needs: &[Need::Kill],
    able: "",
};

fn host(restart: Restart) -> AnyFault {
    AnyFault::Host(End {
        describe: "SIGKILL to every process on the machine",
        by: By::Kill,
        restart,
    })
}
