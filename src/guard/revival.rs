//! How a broker that was killed is started again, by whoever has to.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

/// A process that is not ours, which `deploy/kafka/up` started and `deploy/kafka/down` ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revival {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its folder: its log is appended to `log`, its number and start are in `pid`.
    pub folder: PathBuf,
}

impl Revival {
    /// Starts it, and writes down which process it is.
    ///
    /// # Errors
    /// The system refuses.
    pub fn start(&self) -> io::Result<Child> {
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "there is no command");
        let (program, arguments) = self.command.split_first().ok_or_else(nothing)?;
        let log = File::options().append(true).create(true).open(self.folder.join("log"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C is for the controller alone.
            .process_group(0)
            .spawn()?;
        let since = started(child.id()).unwrap_or_default();
        // Beside and renamed: half a number would name somebody else.
        let (pid, beside) = (self.folder.join("pid"), self.folder.join("pid.new"));
        let written = fs::write(&beside, format!("{} {since}\n", child.id()));
        if let Err(error) = written.and_then(|()| fs::rename(&beside, &pid)) {
            // Nobody could find it to end it.
            child.kill().ok();
            child.wait().ok();
            return Err(error);
        }
        Ok(child)
    }

    /// Whether the process that is written down runs.
    #[must_use]
    pub fn lives(&self) -> bool {
        let found = |(pid, since): (i32, u64)| started(pid.unsigned_abs()) == Some(since);
        self.identity().is_ok_and(found)
    }

    /// Which process it is: its number, and when it started.
    ///
    /// # Errors
    /// Nobody wrote it down.
    pub fn identity(&self) -> io::Result<(i32, u64)> {
        let text = fs::read_to_string(self.folder.join("pid"))?;
        let wrong =
            || io::Error::new(io::ErrorKind::InvalidData, format!("{text:?} is no process"));
        let (pid, since) = text.trim().split_once(' ').ok_or_else(wrong)?;
        Ok((pid.parse().map_err(|_| wrong())?, since.parse().map_err(|_| wrong())?))
    }
}

/// When a process that has not ended started, in the kernel's ticks: with its number, an identity.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything: count from behind it.
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
    // The dead that nobody has waited for yet still stand there.
    if matches!(rest.next()?, "Z" | "X") {
        return None;
    }
    rest.nth(18)?.parse().ok()
}
