//! Whether the programs of the user are there, before anything is started.

use std::ffi::OsStr;
use std::path::Path;

use super::Failure;
use crate::topology::Plan;
use crate::verdict::Exit;

/// A file with this name, or one in a folder of PATH.
///
/// # Errors
/// There is none: a member that leads and cannot do its work is of no use.
pub(super) fn is_there(program: &OsStr) -> Result<(), Failure> {
    let path = Path::new(program);
    let found = if path.components().count() > 1 {
        path.is_file()
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(path).is_file())
    };
    if found {
        return Ok(());
    }
    Err(Failure::text(Exit::Invalid, format!("there is no command {}", path.display())))
}

/// The same of the duties of all groups.
///
/// # Errors
/// One of them is missing.
pub(super) fn duties_are_there(plan: &Plan) -> Result<(), Failure> {
    let duties = plan.groups.values().filter_map(|group| group.duty.as_ref());
    let mut programs = duties.filter_map(|duty| duty.command.first());
    programs.try_for_each(|program| is_there(program.as_ref()))
}
