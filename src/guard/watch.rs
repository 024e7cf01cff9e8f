//! The guard's own process.

use std::io::{self, BufRead, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::Timespec;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Revival;
use crate::time::Mono;

/// For how long the dead are waited for; SIGKILL takes milliseconds.
const GONE: Duration = Duration::from_secs(5);
/// A broker that lives for so long after its killer is gone was not killed.
const DYING: Duration = Duration::from_secs(2);
/// More processes than any plan has; beyond it `hold` is refused.
const HELD_MAX: usize = 10_000;

/// Holds until its standard input ends.
///
/// # Errors
/// Standard input or output fail, or signals cannot be ignored.
pub fn watch(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    // What ends the controller must not end its guard: the pipe alone counts.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, std::sync::Arc::default())?;
    }
    let mut held = Vec::new();
    let mut promised: Vec<Revival> = Vec::new();
    for line in input.lines() {
        let Ok(line) = line else { break };
        if line == "free" {
            return Ok(());
        }
        held.retain(lives);
        if let Some(answer) = promise(&line, &mut promised) {
            writeln!(output, "{answer}").and_then(|()| output.flush()).ok();
            continue;
        }
        let pid = line.strip_prefix("hold ").and_then(|pid| pid.parse().ok());
        match pid.and_then(Pid::from_raw) {
            Some(pid) if held.len() < HELD_MAX => {
                // One that is dead already needs no holding.
                held.extend(pidfd_open(pid, PidfdFlags::empty()));
                // An output that nobody reads means that the input ends, too.
                writeln!(output, "held {}", pid.as_raw_nonzero())
                    .and_then(|()| output.flush())
                    .ok();
            }
            Some(_) | None => {
                tracing::warn!(line, "The guard does not know what to do with this.");
                writeln!(output, "refused").and_then(|()| output.flush()).ok();
            }
        }
    }
    undo(&held);
    for broker in &promised {
        // It may have been promised and not been killed yet, or be dying this very moment.
        let began = Mono::now();
        while broker.lives() && Mono::now().since(began) < DYING {
            std::thread::sleep(Duration::from_millis(20));
        }
        if !broker.lives()
            && let Err(error) = broker.start()
        {
            tracing::error!(%error, folder = %broker.folder.display(), "A broker stays down.");
        }
    }
    Ok(())
}

/// Takes or forgets a promise; the answer, where the line is about one.
fn promise(line: &str, promised: &mut Vec<Revival>) -> Option<&'static str> {
    let parse = |text: &str| serde_json::from_str::<Revival>(text).ok();
    if let Some(broker) = line.strip_prefix("promise ").and_then(parse) {
        promised.push(broker);
        return Some("promised");
    }
    let broker = line.strip_prefix("kept ").and_then(parse)?;
    promised.retain(|other| *other != broker);
    Some("forgotten")
}

/// Whether the process has not ended: a pidfd becomes readable when it does.
pub(super) fn lives(process: &OwnedFd) -> bool {
    !readable(process, Duration::ZERO)
}

/// Whether there is something to read within the time, if only the end.
pub(super) fn readable(file: impl AsFd, within: Duration) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)];
    let within = Timespec {
        tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(within.subsec_nanos()),
    };
    poll(&mut fds, Some(&within)).is_ok_and(|ready| ready > 0)
}

/// Ends everything that is held. A process that cannot be killed keeps no other from being.
fn undo(held: &[OwnedFd]) {
    for process in held {
        for signal in [Signal::KILL, Signal::CONT] {
            if let Err(error) = pidfd_send_signal(process, signal)
                && error != rustix::io::Errno::SRCH
            {
                tracing::error!(%error, ?signal, "A process of the run could not be ended.");
            }
        }
    }
    let began = Mono::now();
    for process in held {
        while lives(process) && Mono::now().since(began) < GONE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(folder: &std::path::Path, name: &str) -> Revival {
        let made = folder.join(name).display().to_string();
        Revival { command: vec!["touch".to_owned(), made], folder: folder.to_owned() }
    }

    #[test]
    fn what_is_still_promised_in_the_end_is_started() {
        let folder = tempfile::tempdir().unwrap();
        let line = |word: &str, name: &str| {
            let told = serde_json::to_string(&broker(folder.path(), name)).unwrap();
            format!("{word} {told}\n")
        };
        let told = [line("promise", "a"), line("promise", "b"), line("kept", "b")].concat();
        let mut said = Vec::new();
        watch(told.as_bytes(), &mut said).unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), "promised\npromised\nforgotten\n");
        let began = Mono::now();
        while !folder.path().join("a").exists() && Mono::now().since(began) < GONE {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(folder.path().join("a").exists(), "the one that was never kept");
        assert!(!folder.path().join("b").exists(), "the one that was");
        let (pid, _) = broker(folder.path(), "a").identity().unwrap();
        assert!(pid > 0);
    }
}
