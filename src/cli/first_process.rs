//! Process 1 of a container: runs the program as a child, passes signals on, and collects every
//! process that is left to it, as the kernel leaves orphans to process 1 (pid_namespaces(7)).

use std::io::{self, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use rustix::termios::tcsetpgrp;
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use super::console;
use crate::guard::signal_families;
use crate::host::{DEATH, ending_signals, own_program, tandem};
use crate::time::Mono;

/// Those that are passed on beside those that end a process.
const OTHERS: [i32; 4] = [SIGCONT, SIGQUIT, SIGUSR1, SIGUSR2];
/// How often what is left is looked at, once the program has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Whether this process is the first one of its PID namespace.
pub(super) fn is_first() -> bool {
    std::process::id() == 1
}

/// Runs the program with the arguments of this process, and returns its exit code once it and all
/// that it has started have ended: when this process ends, the kernel kills them.
///
/// # Errors
/// The system refuses the child.
pub(super) fn attend() -> io::Result<u8> {
    let wanted = ending_signals().into_iter().chain(OTHERS).chain([SIGCHLD]);
    let mut signals = Signals::new(wanted)?;
    let mut program = tandem(own_program());
    // Ctrl-C reaches it alone, once.
    let child = program.args(std::env::args_os().skip(1)).process_group(0).spawn()?;
    let child = Pid::from_child(&child);
    if io::stdin().is_terminal() && tcsetpgrp(io::stdin(), child).is_ok() {
        // It may have read before it was in the foreground.
        kill_process(child, Signal::CONT).ok();
    }
    let mut ended = None;
    for signal in signals.forever() {
        if signal == SIGCHLD {
            ended = collect(child).0;
        } else if let Some(signal) = Signal::from_named_raw(signal) {
            // ESRCH: it has just ended.
            kill_process(child, signal).ok();
        }
        if ended.is_some() {
            break;
        }
    }
    end_the_rest(child);
    Ok(ended.map_or(1, code))
}

/// What the program leaves behind ends by itself, as a guard does once it has undone everything;
/// what does not is asked to.
fn end_the_rest(child: Pid) {
    if all_ended(child, DEATH) {
        return;
    }
    if let Err(error) = signal_families(&[std::process::id()], Signal::TERM) {
        // No log is set up here. A closed standard error is not an error.
        writeln!(console::err(), "not every process of the container is asked to end: {error}")
            .ok();
    }
    all_ended(child, DEATH);
}

/// Collects children until none is left. Returns whether that came within this time.
fn all_ended(child: Pid, within: Duration) -> bool {
    let began = Mono::now();
    while !collect(child).1 {
        if Mono::now().since(began) >= within {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Collects the children that have ended: how `child` did, and whether there is none left.
fn collect(child: Pid) -> (Option<WaitStatus>, bool) {
    let mut ended = None;
    loop {
        match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) if status.stopped() => {
                // Ctrl-Z: no shell is there to continue it. SIGSTOP is meant.
                if pid == child && status.stopping_signal() == Some(SIGTSTP) {
                    kill_process(child, Signal::CONT).ok();
                }
            }
            Ok(Some((pid, status))) if pid == child => ended = Some(status),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return (ended, false),
            Err(_) => return (ended, true),
        }
    }
}

/// The exit code, as a shell would report it.
fn code(status: WaitStatus) -> u8 {
    let number = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal));
    number.and_then(|number| u8::try_from(number).ok()).unwrap_or(1)
}
