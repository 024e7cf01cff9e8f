//! The end of `tandem hold` on the socket to its keeper.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use super::cgroup::Cgroup;
use super::deadlines::Stopping;
use super::protocol::{Order, Report};
use crate::time::Span;

/// The most reports that wait; there are two a command.
const REPORTS_MAX: usize = 64;
/// How long an order may wait for room in the socket. A keeper that is stopped makes none.
const ROOM: Duration = Duration::from_millis(5);

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
    socket: UnixStream,
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
        socket.set_write_timeout(Some(ROOM))?;
        let Stopping { grace, margin } = stopping;
        let mut keeper = Command::new(std::env::current_exe()?);
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
        let child = keeper
            .args(["--grace".to_owned(), Span(grace).to_string()])
            .args(["--margin".to_owned(), Span(margin).to_string()])
            .arg("--")
            .args(command)
            .env(mark.0, mark.1)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // Outside the terminal's foreground group: Ctrl-C must reach only `tandem hold`.
            .process_group(0)
            .spawn()?;
        let reader = socket.try_clone()?;
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
        Ok(Self { pid: child.id(), socket, reports })
    }

    /// Its process id.
    pub(super) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends an order. One that finds no room is lost: the keeper is stopped, and the next one says
    /// more.
    pub(super) fn order(&mut self, order: &Order) {
        let Ok(mut line) = serde_json::to_vec(order) else { return };
        line.push(b'\n');
        if let Err(error) = self.socket.write_all(&line) {
            tracing::debug!(%error, "An order does not reach the keeper.");
        }
    }

    /// The next report, within the time.
    pub(super) fn heard(&self, within: Duration) -> Heard {
        match self.reports.recv_timeout(within) {
            Ok(report) => Heard::Report(report),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Gone,
        }
    }
}
