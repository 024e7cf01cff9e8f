//! Checks before a run, on a process of its own, whether this machine allows what faults do to
//! processes.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

use super::Identity;
use super::identity::send;
use super::pipe::readable;
use crate::host::{DEATH, tandem};
use crate::time::Mono;

/// The kernel stops a process within milliseconds, on a busy host too.
const EFFECT: Duration = Duration::from_secs(5);

/// What this machine allows on processes of this user.
#[derive(Debug)]
pub struct Rehearsal {
    /// Whether a process can be stopped and continued.
    pub stops: io::Result<()>,
    /// Whether a process can be held by a pidfd, and killed.
    pub kills: io::Result<()>,
}

/// Starts a process from `program`, the `tandem` binary, stops it and kills it.
///
/// # Errors
/// The process cannot be started.
pub fn rehearse(program: impl AsRef<OsStr>) -> io::Result<Rehearsal> {
    let mut child = tandem(program)
        .arg("guard")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let held = Identity::of(child.id()).ok_or_else(|| io::Error::other("/proc cannot be read"));
    let held = held
        .and_then(Identity::open)
        .and_then(|pidfd| pidfd.ok_or_else(|| io::Error::other("the test process has ended")));
    let rehearsal = match held {
        Ok(process) => Rehearsal { stops: stop(&process), kills: kill(&process) },
        Err(error) => {
            let again = io::Error::new(error.kind(), error.to_string());
            Rehearsal { stops: Err(again), kills: Err(error) }
        }
    };
    // If something was refused, end the process by other means.
    child.kill().ok();
    drop(child.stdin.take());
    child.wait()?;
    Ok(rehearsal)
}

fn stop(process: &OwnedFd) -> io::Result<()> {
    send(process, &[Signal::STOP])?;
    let began = Mono::now();
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    while Mono::now().since(began) < EFFECT {
        let status = waitid(WaitId::PidFd(process.as_fd()), options)?;
        if status.is_some_and(|status| status.stopped()) {
            return send(process, &[Signal::CONT]);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "SIGSTOP had no effect"))
}

fn kill(process: &OwnedFd) -> io::Result<()> {
    send(process, &[Signal::KILL])?;
    let dead = readable(process, DEATH);
    if dead {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::TimedOut, "SIGKILL had no effect"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_an_error() {
        rehearse("/nonexistent/tandem").unwrap_err();
    }
}
