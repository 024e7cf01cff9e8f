//! The keeper of a command: a process between `tandem hold` and the command, which ends the command
//! in time even if `tandem hold` dies or hangs.
//!
//! ```text
//!  tandem hold -- start, renew, stop --> keeper -- SIGTERM, SIGKILL --> command
//!       ^                                  |  ^                            | forks, detaches
//!       +------- started, ended -----------+  +---- parent of all --------+
//! ```
//!
//! The keeper compares the last renewed end of the claim with the clock, so that a `tandem hold`
//! that hangs or is stopped holds nothing up. If the socket closes, `tandem hold` is gone: the
//! keeper kills the command, leaves the group for the dead if it is to, and ends. It is a
//! subreaper, so all that the command starts stays its descendant. The command itself is killed by
//! the kernel if the keeper dies.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitStatus, getpid, pidfd_open};
use rustix::time::Timespec;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::cgroup::Cgroup;
use super::deadlines::{Act, Deadlines, Stopping};
use super::departure::Departure;
use super::family::{LOOK, kill_all, kill_each, reap, signal_all};
use super::protocol::{CommandEnd, Order, Report};
use crate::time::Mono;

/// The longest line of an order.
const LINE_MAX: usize = 64 * 1024;

/// A command that runs, or whose processes are not gone yet.
struct Kept {
    pid: u32,
    pidfd: OwnedFd,
    deadlines: Deadlines,
    /// How it ended, once it has, and whether it was asked to before.
    ended: Option<(WaitStatus, bool)>,
    killed: bool,
}

struct Keeper<'a> {
    socket: UnixStream,
    waiting: Vec<u8>,
    command: &'a [OsString],
    stopping: Stopping,
    /// Whether standard output is the pipe for what the command ticks.
    ticks: bool,
    cgroup: Option<&'a Cgroup>,
    kept: Option<Kept>,
    departure: Option<Departure>,
}

/// Keeps `command`, by the orders that arrive on `socket`, until that closes. With `ticks`,
/// standard output is the pipe on which the command says that it serves. The command runs in
/// `cgroup`, which is removed in the end.
///
/// # Errors
/// The process cannot become the parent of what its command leaves behind.
pub fn keep(
    socket: UnixStream,
    command: &[OsString],
    stopping: Stopping,
    ticks: bool,
    cgroup: Option<&Cgroup>,
) -> io::Result<()> {
    // What ends `tandem hold` must not end its keeper, which sees the socket close.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, std::sync::Arc::default())?;
    }
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let (waiting, kept, departure) = (Vec::new(), None, None);
    let mut keeper = Keeper { socket, waiting, command, stopping, ticks, cgroup, kept, departure };
    while keeper.turn() {}
    kill_all(cgroup, None);
    if let Some(cgroup) = cgroup {
        cgroup.remove();
    }
    // Only now another member may lead.
    if let Some(departure) = keeper.departure.take() {
        departure.leave();
    }
    Ok(())
}

impl Keeper<'_> {
    /// Waits for something to do, and does it. False once `tandem hold` is gone.
    fn turn(&mut self) -> bool {
        let wait = self.act();
        let (readable, ended) = self.wait(wait);
        if ended {
            self.collect();
        }
        if !readable {
            return true;
        }
        let mut bytes = [0; 4096];
        match self.socket.read(&mut bytes) {
            Ok(0) => return false,
            Ok(count) => self.waiting.extend(bytes.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
        while let Some(end) = self.waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.waiting.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(order) => self.carry_out(order),
                Err(error) => tracing::warn!(%error, "The keeper does not know this order."),
            }
        }
        self.waiting.len() <= LINE_MAX
    }

    /// Does what is due. Returns how long nothing else is.
    fn act(&mut self) -> Option<Duration> {
        let kept = self.kept.as_mut()?;
        let now = Mono::now();
        // What the command left behind is asked as well, and has as long as it had.
        if kept.ended.is_some() {
            kept.deadlines.stop(now + self.stopping.grace);
        }
        let wait = match kept.deadlines.act(now) {
            Act::Wait(until) => until.since(now),
            Act::Ask => {
                tracing::debug!(pid = kept.pid, "The keeper asks the command to end.");
                signal_all(&[Signal::TERM, Signal::CONT]);
                Duration::ZERO
            }
            Act::Kill => {
                tracing::debug!(pid = kept.pid, "The keeper kills the command.");
                kept.killed |= kill_each(self.cgroup);
                LOOK
            }
        };
        // Children that are not the command give no other sign of their end.
        Some(if kept.ended.is_some() || kept.deadlines.was_asked() { wait.min(LOOK) } else { wait })
    }

    /// Waits for an order, the end of the command, or the time. Says which came.
    fn wait(&self, within: Option<Duration>) -> (bool, bool) {
        let timeout = within.and_then(|wait| Timespec::try_from(wait).ok());
        let mut fds = vec![PollFd::new(&self.socket, PollFlags::IN)];
        let running = self.kept.as_ref().filter(|kept| kept.ended.is_none());
        fds.extend(running.map(|kept| PollFd::new(&kept.pidfd, PollFlags::IN)));
        // Interrupted by a signal: the caller looks again.
        poll(&mut fds, timeout.as_ref()).ok();
        let is_ready = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
        (is_ready(fds.first()), is_ready(fds.get(1)) || self.kept.is_some())
    }

    fn carry_out(&mut self, order: Order) {
        match (order, &mut self.kept) {
            (Order::Start { until, environment }, None) => self.start(until, &environment),
            (Order::Renew { until }, Some(kept)) => kept.deadlines.renew(until),
            (Order::Stop { by }, Some(kept)) => kept.deadlines.stop(by),
            (Order::Depart { like }, Some(_) | None) => self.departure = like,
            // It has ended meanwhile, and `tandem hold` learns of it.
            (Order::Start { .. }, Some(_)) | (Order::Renew { .. } | Order::Stop { .. }, None) => {}
        }
    }

    fn start(&mut self, until: Mono, environment: &BTreeMap<String, String>) {
        let deadlines = Deadlines::new(self.stopping, until);
        // The order is old: this process, or `tandem hold`, did not run meanwhile.
        if !matches!({ deadlines }.act(Mono::now()), Act::Wait(_)) {
            self.report(&Report::Ended(CommandEnd { asked: true, ..CommandEnd::default() }));
            return;
        }
        match self.spawn(environment) {
            Ok((pid, pidfd)) => {
                self.kept = Some(Kept { pid, pidfd, deadlines, ended: None, killed: false });
                self.report(&Report::Started { pid });
            }
            Err(error) => self.report(&Report::Failed { why: error.to_string() }),
        }
    }

    /// Starts the command by way of `tandem starter`, which ties it to this process.
    fn spawn(&self, environment: &BTreeMap<String, String>) -> io::Result<(u32, OwnedFd)> {
        let mut starter = Command::new(std::env::current_exe()?);
        starter.args(["starter", &std::process::id().to_string()]);
        if self.ticks {
            // The starter moves the pipe to another number.
            starter.arg("--ticks").stdin(io::stdout().as_fd().try_clone_to_owned()?);
            starter.stdout(io::stderr().as_fd().try_clone_to_owned()?);
        } else {
            starter.stdin(Stdio::null());
        }
        if let Some(cgroup) = self.cgroup {
            starter.arg("--cgroup").arg(cgroup.path());
        }
        let mut child = starter.arg("--").args(self.command).envs(environment).spawn()?;
        let open = || {
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
            pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from)
        };
        match open() {
            Ok(pidfd) => Ok((child.id(), pidfd)),
            Err(error) => {
                child.kill().ok();
                child.wait().ok();
                Err(error)
            }
        }
    }

    /// Collects what has ended; reports once nothing of the command is left.
    fn collect(&mut self) {
        let (ended, childless) = reap();
        let all = childless && self.cgroup.is_none_or(Cgroup::is_empty);
        let Some(kept) = &mut self.kept else { return };
        if let Some((_, status)) = ended.into_iter().find(|(pid, _)| *pid == kept.pid) {
            kept.ended = Some((status, kept.deadlines.was_asked()));
        }
        if all && let Some(kept) = self.kept.take() {
            let status = kept.ended.map(|(status, _)| status);
            let end = CommandEnd {
                status: status.and_then(WaitStatus::exit_status),
                signal: status.and_then(WaitStatus::terminating_signal),
                // What it left behind was asked as well; that says nothing of the command.
                asked: kept.ended.is_some_and(|(_, asked)| asked),
                killed: kept.killed,
            };
            tracing::debug!(?end, "Nothing of the command is left.");
            self.report(&Report::Ended(end));
        }
    }

    fn report(&mut self, report: &Report) {
        let Ok(mut line) = serde_json::to_vec(report) else { return };
        line.push(b'\n');
        // Without a reader the socket closes next.
        self.socket.write_all(&line).ok();
    }
}
