//! Starts a command that cannot outlive its keeper: the kernel kills it when the keeper ends.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::cgroup::Cgroup;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};

/// The environment variable with the number of the descriptor on which a program ticks.
const TICK_FD: &str = "TANDEM_TICK_FD";
/// The least number of that descriptor: those below have their own meaning.
const LEAST: i32 = 3;

/// Becomes `command`, in a session and a process group of its own. The process `keeper` must be the
/// parent of this one. With `ticks`, standard input is the pipe on which the command ticks: it gets
/// another number, which the command learns. With `cgroup`, it runs there.
///
/// # Errors
/// The keeper is gone, or the command cannot be run.
pub fn become_command(
    keeper: u32,
    command: &[OsString],
    ticks: bool,
    cgroup: Option<&Cgroup>,
) -> io::Result<Infallible> {
    // It stays over `execve`, unless the file is set-user-id.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Only a death from now on sends the signal.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent.and_then(|pid| u32::try_from(pid).ok()) != Some(keeper) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "its keeper has ended"));
    }
    cgroup.map_or(Ok(()), Cgroup::enter)?;
    setsid()?;
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut command = Command::new(program);
    command.args(arguments);
    if !ticks {
        return Err(command.exec());
    }
    let pipe = fcntl_dupfd_cloexec(io::stdin(), LEAST)?;
    fcntl_setfd(&pipe, FdFlags::empty())?;
    let number = pipe.as_raw_fd().to_string();
    Err(command.env(TICK_FD, number).stdin(Stdio::null()).exec())
}
