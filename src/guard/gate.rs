//! A process that becomes a command of the user once it may: the guard holds it before.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Waits for a line on `input`, then becomes `command`, without input and with the environment of
/// this process.
///
/// # Errors
/// The input ended before, because its writer is gone; or the command cannot be run.
pub fn become_gated(mut input: impl Read, command: &[OsString]) -> io::Result<Infallible> {
    let mut byte = [0];
    while byte != *b"\n" {
        input.read_exact(&mut byte)?;
    }
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Err(Command::new(program).args(arguments).stdin(Stdio::null()).exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_becomes_nothing_without_a_line() {
        let missing = [OsString::from("/nonexistent")];
        for ends in ["", "go"] {
            let error = become_gated(ends.as_bytes(), &missing).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{ends:?}");
        }
        let error = become_gated(&b"\n"[..], &missing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
