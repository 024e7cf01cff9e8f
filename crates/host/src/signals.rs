//! The signals that a process gets from its surroundings.

use std::fs;
use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register;

/// The signals that ask this process to end. One that was started with SIGHUP ignored, as by
/// nohup(1), goes on when its terminal is gone. Only until one is handled the kernel knows that.
#[must_use]
pub fn ending_signals() -> Vec<i32> {
    [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|one| *one != SIGHUP || !is_ignored(*one))
        .collect()
}

/// From now on these signals do not end this process. The programs that it starts get them as it
/// would have.
///
/// # Errors
/// The system refuses it.
pub fn outlive_signals() -> io::Result<()> {
    for signal in ending_signals() {
        register(signal, Arc::default())?;
    }
    Ok(())
}

/// Makes the kernel keep children that have ended until they are waited for. A parent that ignores
/// SIGCHLD hands that down, and then nothing says how a child has ended (wait(2)).
///
/// # Errors
/// The system refuses it.
pub fn keep_ended_children() -> io::Result<()> {
    if is_ignored(SIGCHLD) {
        register(SIGCHLD, Arc::default())?;
    }
    Ok(())
}

/// Whether this process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    ignored(&status).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The set of ignored signals in the text of `/proc/PID/status`, the first one as the lowest bit.
fn ignored(status: &[u8]) -> Option<u64> {
    let line = status.split(|byte| *byte == b'\n').find_map(|it| it.strip_prefix(b"SigIgn:"))?;
    u64::from_str_radix(std::str::from_utf8(line).ok()?.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_of_ignored_signals_is_read() {
        let text = b"Name:\tn\xc3\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000011001\n";
        let set = ignored(text).unwrap();
        let has = |signal: i32| set >> (signal - 1) & 1 == 1;
        assert!(has(SIGHUP) && has(SIGCHLD) && !has(SIGINT) && !has(SIGTERM));
        assert_eq!(ignored(b"Name:\tx\n"), None);
        assert!(ending_signals().starts_with(&[SIGINT, SIGTERM]));
    }
}
