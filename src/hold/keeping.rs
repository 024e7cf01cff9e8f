//! The end of `tandem hold` on the socket to its keeper.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{self, SendFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::Timespec;

use super::cgroup::Cgroup;
use super::deadlines::Stopping;
use super::protocol::{Order, Report};
use crate::host::{own_program, tandem};
use crate::time::{Mono, Span};

/// The most reports that wait; there are two a command.
const REPORTS_MAX: usize = 64;
/// The most bytes of orders that wait for room in the socket. A keeper that is stopped makes none.
const UNSENT_MAX: usize = 1 << 20;

/// Where the output of a command goes.
#[derive(Debug)]
pub(super) enum Output {
    /// To that of this process.
    Inherited,
    /// To the standard error of this process.
    Log,
    /// To the standard error as well; what the command ticks goes here.
    Ticks(PipeWriter),
}

/// A running keeper.
pub(super) struct Keeping {
    pid: u32,
    process: OwnedFd,
    socket: UnixStream,
    /// Orders, as far as the socket had no room for them.
    unsent: Vec<u8>,
    reports: Receiver<Report>,
}

/// What came from the keeper.
#[derive(Debug)]
pub(super) enum Heard {
    /// A report.
    Report(Report),
    /// Nothing within the time.
    Nothing,
    /// The keeper is gone.
    Gone,
}

impl Keeping {
    /// Starts a keeper, which starts nothing yet. The processes of its command bear `mark` as this
    /// variable, and are in `cgroup`.
    pub(super) fn start(
        command: &[OsString],
        stopping: Stopping,
        mark: (&str, &str),
        cgroup: Option<&Cgroup>,
        output: Output,
    ) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let reader = socket.try_clone()?;
        let Stopping { grace, margin } = stopping;
        let mut keeper = tandem(own_program());
        keeper.arg("keeper");
        match output {
            Output::Inherited => {}
            Output::Log => {
                keeper.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
            }
            Output::Ticks(pipe) => {
                keeper.arg("--ticks").stdout(Stdio::from(pipe));
            }
        }
        if let Some(cgroup) = cgroup {
            keeper.arg("--cgroup").arg(cgroup.path());
        }
        let mut child = keeper
            .args(["--grace".to_owned(), Span(grace).to_string()])
            .args(["--margin".to_owned(), Span(margin).to_string()])
            .arg("--")
            .args(command)
            .env(mark.0, mark.1)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // Outside the terminal's foreground group: Ctrl-C must reach only `tandem hold`.
            .process_group(0)
            .spawn()?;
        let process = match pidfd(&child) {
            Ok(process) => process,
            Err(error) => {
                child.kill().ok();
                child.wait().ok();
                return Err(error);
            }
        };
        let (sender, reports) = sync_channel(REPORTS_MAX);
        let _ends_with_the_socket = Builder::new().name("keeper".to_owned()).spawn(move || {
            for line in BufReader::new(reader).lines() {
                let Ok(line) = line else { break };
                let Ok(report) = serde_json::from_str(&line) else { continue };
                if sender.send(report).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { pid: child.id(), process, socket, unsent: Vec::new(), reports })
    }

    /// Its process id.
    pub(super) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends an order, or as much of it as the socket has room for: the rest goes with the next
    /// one. A keeper that is stopped for so long gets no renewals; the one after says more.
    pub(super) fn order(&mut self, order: &Order) {
        self.send();
        let waits = !self.unsent.is_empty();
        if waits && (matches!(order, Order::Renew { .. }) || self.unsent.len() > UNSENT_MAX) {
            tracing::debug!(?order, "An order does not reach the keeper.");
            return;
        }
        let Ok(line) = serde_json::to_vec(order) else { return };
        self.unsent.extend(line);
        self.unsent.push(b'\n');
        self.send();
    }

    /// Waits until all orders are sent, no longer than this.
    pub(super) fn deliver(&mut self, within: Duration) {
        let began = Mono::now();
        self.send();
        while !self.unsent.is_empty() {
            let left = within.saturating_sub(Mono::now().since(began));
            let Ok(left) = Timespec::try_from(left) else { return };
            let mut room = [PollFd::new(&self.socket, PollFlags::OUT)];
            if poll(&mut room, Some(&left)).is_ok_and(|ready| ready == 0) {
                return;
            }
            self.send();
        }
    }

    /// Sends what waits, as far as there is room now.
    fn send(&mut self) {
        while !self.unsent.is_empty() {
            match net::send(&self.socket, &self.unsent, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The keeper is gone, as the next report says.
                Err(_) => self.unsent.clear(),
            }
        }
    }

    /// Kills the keeper, so that the kernel kills the command that it has started.
    pub(super) fn kill(&self) {
        // ESRCH: it has ended.
        pidfd_send_signal(&self.process, Signal::KILL).ok();
    }

    /// The next report, within the time.
    pub(super) fn heard(&mut self, within: Duration) -> Heard {
        self.send();
        match self.reports.recv_timeout(within) {
            Ok(report) => Heard::Report(report),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Gone,
        }
    }
}

/// A child that was not waited for, so its pid is no other's.
pub(super) fn pidfd(child: &Child) -> io::Result<OwnedFd> {
    Ok(pidfd_open(Pid::from_child(child), PidfdFlags::empty())?)
}
