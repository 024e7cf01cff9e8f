//! `tandem keeper`, `tandem starter` and `tandem gate`: the processes between Tandem and a command
//! of the user.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::{Failure, console};
use crate::guard::become_gated;
use crate::hold::{Cgroup, Stopping, become_command, keep};
use crate::time::Span;
use crate::verdict::Exit;

/// A program that does not exist, as shells report it.
const NOT_FOUND: u8 = 127;
/// A program that cannot be run.
const NOT_RUN: u8 = 126;

/// Keep a command: end it before its claim ends.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct KeeperArgs {
    /// From SIGTERM to SIGKILL.
    #[arg(long)]
    grace: Span,
    /// From SIGKILL to the end of the claim.
    #[arg(long)]
    margin: Span,
    /// Standard output is the pipe on which the command ticks.
    #[arg(long)]
    ticks: bool,
    /// The cgroup of the command.
    #[arg(long)]
    cgroup: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Become a command that ends with its keeper.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct StarterArgs {
    /// The process id of the keeper, the parent of this process.
    keeper: u32,
    /// Standard input is the pipe on which the command ticks.
    #[arg(long)]
    ticks: bool,
    /// The cgroup of the command.
    #[arg(long)]
    cgroup: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Keeps the command until the socket on standard input closes.
pub(super) fn run(args: &KeeperArgs) -> Result<Exit, Failure> {
    let stopping = Stopping { grace: args.grace.get(), margin: args.margin.get() };
    let socket = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let KeeperArgs { command, ticks, cgroup, .. } = args;
    let cgroup = cgroup.clone().map(Cgroup::from);
    let kept = socket.and_then(|socket| keep(socket, command, stopping, *ticks, cgroup.as_ref()));
    kept.map_err(|error| Failure::new(Exit::Unable, &error))?;
    Ok(Exit::Pass)
}

/// Become a command once a line comes.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct GateArgs {
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Becomes the command; returns an exit code only if it cannot.
pub(super) fn start(args: &StarterArgs) -> u8 {
    let StarterArgs { keeper, command, ticks, cgroup } = args;
    let cgroup = cgroup.clone().map(Cgroup::from);
    not_run(command, become_command(*keeper, command, *ticks, cgroup.as_ref()))
}

/// Becomes the command once a line comes on standard input; returns an exit code only if it cannot.
pub(super) fn wait(args: &GateArgs) -> u8 {
    not_run(&args.command, become_gated(io::stdin().lock(), &args.command))
}

fn not_run(command: &[OsString], became: io::Result<Infallible>) -> u8 {
    let error = match became {
        Ok(never) => absurd(never),
        Err(error) => error,
    };
    let program = command.first().map(|name| name.to_string_lossy().into_owned());
    let program = program.unwrap_or_default();
    // A closed standard error changes nothing.
    writeln!(console::err(), "cannot run {program}: {error}").ok();
    if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN }
}

fn absurd(never: Infallible) -> io::Error {
    match never {}
}
