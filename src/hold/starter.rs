//! Starts a command that cannot outlive its keeper: the kernel kills it when the keeper ends.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};

/// Becomes `command`, in a session and a process group of its own. The process `keeper` must be the
/// parent of this one.
///
/// # Errors
/// The keeper is gone, or the command cannot be run.
pub fn become_command(keeper: u32, command: &[OsString]) -> io::Result<Infallible> {
    // It stays over `execve`, unless the file is set-user-id.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Only a death from now on sends the signal.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent.and_then(|pid| u32::try_from(pid).ok()) != Some(keeper) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "its keeper has ended"));
    }
    setsid()?;
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Err(Command::new(program).args(arguments).exec())
}
