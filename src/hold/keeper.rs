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
//! that hangs or is stopped holds nothing up. It measures how late it acts itself, and begins
//! sooner by that. If the socket closes, `tandem hold` is gone: the keeper kills the command,
//! leaves the group for the dead if it is to, and ends. It is a subreaper, so all that the command
//! starts stays its descendant. The command itself is killed by the kernel if the keeper dies.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{
    Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, pidfd_send_signal, waitid,
};
use rustix::time::Timespec;

use super::cgroup::Cgroup;
use super::deadlines::{Act, Deadlines, Stopping};
use super::departure::Departure;
use super::family::{LOOK, kill_all, kill_each, reap, reap_beside, signal_all};
use super::keeping::pidfd;
use super::lateness::Lateness;
use super::protocol::{CommandEnd, Order, Report};
use crate::host::{outlive_signals, own_program, tandem};
use crate::time::{Mono, Span};

/// The longest line of an order.
const LINE_MAX: usize = 64 * 1024;

/// A command that runs, or whose processes are not gone yet.
struct Kept {
    pid: u32,
    pidfd: OwnedFd,
    deadlines: Deadlines,
    /// How it ended, once it has, and whether it was asked to before.
    ended: Option<(WaitIdStatus, bool)>,
    killed: bool,
    /// Whether the end of the claim is a promise.
    promised: bool,
}

impl Kept {
    /// How the command has ended. It leads its process group, so it is collected last: until then
    /// its pid is no other's, and its group can be killed without a look at it.
    fn status(&self) -> Option<WaitIdStatus> {
        self.look().ok().flatten()
    }

    /// The command, while it was not collected.
    fn leader(&self) -> Option<u32> {
        self.look().is_ok().then_some(self.pid)
    }

    fn look(&self) -> rustix::io::Result<Option<WaitIdStatus>> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::PidFd(self.pidfd.as_fd()), look)
    }
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
    lateness: Lateness,
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
    outlive_signals()?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let (waiting, kept, departure, lateness) = (Vec::new(), None, None, Lateness::new());
    let mut keeper =
        Keeper { socket, waiting, command, stopping, ticks, cgroup, kept, departure, lateness };
    while keeper.turn() {}
    kill_all(keeper.kept.as_ref().and_then(Kept::leader), cgroup, None);
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
        let due = self.act();
        let acted = Mono::now();
        let (readable, ended) = self.wait(due);
        let woke = Mono::now();
        if ended {
            self.collect();
        }
        let mut given = None;
        let goes_on = !readable || self.read(&mut given);
        // Once a turn: a stop makes all that waited meanwhile late. What this process itself did
        // until then is not.
        if let Some(since) = due.into_iter().chain(given).min() {
            self.lateness.note(since.max(acted), woke);
        }
        goes_on
    }

    /// Takes the orders that have arrived. Keeps in `given` when the first of them was given. False
    /// once `tandem hold` is gone.
    fn read(&mut self, given: &mut Option<Mono>) -> bool {
        // All of them: the last one says most, and it may be that the first ones are old.
        let is_open = loop {
            let mut bytes = [0; 4096];
            match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) => break false,
                Ok((count, _)) => self.waiting.extend(bytes.iter().take(count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break true,
                Err(_) => break false,
            }
        };
        while let Some(end) = self.waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.waiting.drain(..=end).collect();
            match serde_json::from_slice::<Order>(&line) {
                // Without `tandem hold` only its last word counts: how to leave the group.
                Ok(order) if is_open || matches!(order, Order::Depart { .. }) => {
                    *given = given.or(order.at());
                    self.carry_out(order);
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "The keeper does not know this order."),
            }
        }
        is_open && self.waiting.len() <= LINE_MAX
    }

    /// Does what is due. Returns until when nothing else is.
    fn act(&mut self) -> Option<Mono> {
        let kept = self.kept.as_mut()?;
        let now = Mono::now();
        if kept.promised {
            kept.deadlines.late(self.lateness.usual(now));
        }
        // What the command left behind is asked as well, and has as long as it had.
        if kept.ended.is_some() {
            kept.deadlines.stop(now + self.stopping.grace);
        }
        let due = match kept.deadlines.act(now) {
            Act::Wait(until) => until,
            Act::Ask => {
                // To find all of them must not hold up the kill.
                let Act::Wait(kill) = { kept.deadlines }.act(now) else { return Some(now) };
                signal_all(kept.leader(), &[Signal::TERM, Signal::CONT], Some(kill));
                tracing::debug!(pid = kept.pid, "The keeper has asked the command to end.");
                now
            }
            Act::Kill => {
                // Its group still has its number, and is signalled as well, when it has ended.
                // Before it has begun its group, only its pidfd reaches it.
                let ran = kept.status().is_none();
                pidfd_send_signal(&kept.pidfd, Signal::KILL).ok();
                let lives = ran || reap_beside(kept.pid) == Some(false);
                kept.killed |= kill_each(kept.leader(), self.cgroup, None) || lives;
                tracing::debug!(pid = kept.pid, "The keeper kills the command.");
                now + LOOK
            }
        };
        // Children that are not the command give no other sign of their end.
        let looks = kept.ended.is_some() || kept.deadlines.was_asked();
        Some(if looks { due.min(now + LOOK) } else { due })
    }

    /// Waits for an order, the end of the command, or the time. Says which came.
    fn wait(&self, until: Option<Mono>) -> (bool, bool) {
        let within = until.map(|until| until.since(Mono::now()));
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
            (Order::Start { until, promised, environment, .. }, None) => {
                self.start(until, promised, &environment);
            }
            (Order::Renew { until, .. }, Some(kept)) => kept.deadlines.renew(until),
            (Order::Stop { by }, Some(kept)) => kept.deadlines.stop(by),
            (Order::Depart { like }, Some(_) | None) => self.departure = like,
            // It has ended meanwhile, and `tandem hold` learns of it.
            (Order::Start { .. }, Some(_)) | (Order::Renew { .. } | Order::Stop { .. }, None) => {}
        }
    }

    fn start(&mut self, until: Mono, promised: bool, environment: &BTreeMap<String, String>) {
        let (now, mut deadlines) = (Mono::now(), Deadlines::new(self.stopping, until));
        // The order is old: this process, or `tandem hold`, did not run meanwhile.
        if !matches!({ deadlines }.act(now), Act::Wait(_)) {
            self.report(&Report::Ended(CommandEnd { asked: true, ..CommandEnd::default() }));
            return;
        }
        let late = if promised { self.lateness.usual(now) } else { Duration::ZERO };
        deadlines.late(late);
        if !matches!({ deadlines }.act(now), Act::Wait(_)) {
            self.report(&Report::Declined { late: Span(late) });
            return;
        }
        match self.spawn(environment) {
            Ok((pid, pidfd)) => {
                self.kept =
                    Some(Kept { pid, pidfd, deadlines, ended: None, killed: false, promised });
                self.report(&Report::Started { pid });
            }
            Err(error) => self.report(&Report::Failed { why: error.to_string() }),
        }
    }

    /// Starts the command by way of `tandem starter`, which ties it to this process.
    fn spawn(&self, environment: &BTreeMap<String, String>) -> io::Result<(u32, OwnedFd)> {
        let mut starter = tandem(own_program());
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
        let child = starter.arg("--").args(self.command).envs(environment).spawn()?;
        match pidfd(&child) {
            Ok(pidfd) => Ok((child.id(), pidfd)),
            Err(error) => {
                // What it has started meanwhile ends as well.
                kill_all(Some(child.id()), self.cgroup, None);
                Err(error)
            }
        }
    }

    /// Collects what has ended; reports once nothing of the command is left.
    fn collect(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        if kept.ended.is_none() {
            kept.ended = kept.status().map(|status| (status, kept.deadlines.was_asked()));
        }
        let Some((status, asked)) = kept.ended else {
            reap_beside(kept.pid);
            return;
        };
        // The kernel's word is the proof: the leader is collected with the last of the others.
        let alone = reap_beside(kept.pid) != Some(false) && reap();
        if alone && self.cgroup.is_none_or(Cgroup::is_empty) {
            let end = CommandEnd {
                status: status.exit_status(),
                signal: status.terminating_signal(),
                // What it left behind was asked as well; that says nothing of the command.
                asked,
                killed: kept.killed,
            };
            self.kept = None;
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
