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
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C is for the controller alone.
            .process_group(0)
            .spawn()?;
        let since = started(child.id()).unwrap_or_default();
        fs::write(self.folder.join("pid"), format!("{} {since}\n", child.id()))?;
        Ok(child)
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

/// When a process started, in the kernel's ticks: with its number, an identity.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything: count from behind it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
