//! Starts a broker of `deploy/kafka/up` again after a fault has ended it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::{Identity, started};
use crate::time::{Mono, Span};

/// How long to wait for another process that starts the same broker; a start takes milliseconds.
const TURN: Duration = Duration::from_millis(500);

/// The variables that a restarted broker gets from our environment: those that the shell, Java and
/// Kafka need. It gets no others.
const ENVIRONMENT: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "JAVA_HOME",
    "LD_LIBRARY_PATH",
];

fn environment(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    all.filter(|(name, _)| ENVIRONMENT.iter().any(|known| name == known))
}

/// A broker process that `deploy/kafka/up` started and `deploy/kafka/down` ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revival {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its folder: `log` has its output, and `pid` its process id and start time.
    pub folder: PathBuf,
    /// How long it may take to end if it was asked to; `None` if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_within: Option<Span>,
}

impl Revival {
    /// Starts it, unless it runs, and writes its process id and start time to `pid`.
    ///
    /// # Errors
    /// The process cannot be started, or its files cannot be written.
    pub fn start(&self) -> io::Result<Option<Child>> {
        // A run that was stopped and its guard may both get here, so the folder is locked. The wait
        // is bounded: a run that is stopped while it has the lock must not block its guard.
        let turn = File::open(&self.folder)?;
        let began = Mono::now();
        while turn.try_lock().is_err() && Mono::now().since(began) < TURN {
            std::thread::sleep(TURN / 100);
        }
        if self.lives() {
            return Ok(None);
        }
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
        let (program, arguments) = self.command.split_first().ok_or_else(nothing)?;
        let log = File::options().append(true).create(true).open(self.folder.join("log"))?;
        let mut child = Command::new(program)
            .args(arguments)
            // It outlives this process, whose environment may hold passwords and tokens.
            .env_clear()
            .envs(environment(std::env::vars_os()))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C must reach only the controller.
            .process_group(0)
            .spawn()?;
        let since = started(child.id()).unwrap_or_default();
        // Written to another file and renamed: half a pid would name another process.
        let (pid, beside) = (self.folder.join("pid"), self.folder.join("pid.new"));
        let written = fs::write(&beside, format!("{} {since}\n", child.id()));
        if let Err(error) = written.and_then(|()| fs::rename(&beside, &pid)) {
            // Without the file, `deploy/kafka/down` could not find it.
            child.kill().ok();
            child.wait().ok();
            return Err(error);
        }
        Ok(Some(child))
    }

    /// Continues the process in `pid`, in case it is paused.
    ///
    /// # Errors
    /// The file cannot be read, or the signal cannot be sent.
    pub fn wake(&self) -> io::Result<()> {
        match self.identity() {
            Ok(process) => process.signal(&[Signal::CONT]),
            // It was never started.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether the process in `pid` runs.
    #[must_use]
    pub fn lives(&self) -> bool {
        self.identity().is_ok_and(Identity::lives)
    }

    /// The process in `pid`.
    ///
    /// # Errors
    /// The file is missing, cannot be read, or names no process.
    pub fn identity(&self) -> io::Result<Identity> {
        let text = fs::read_to_string(self.folder.join("pid"))?;
        let wrong =
            || io::Error::new(io::ErrorKind::InvalidData, format!("{text:?} names no process"));
        let (pid, since) = text.trim().split_once(' ').ok_or_else(wrong)?;
        let (pid, since) = (pid.parse(), since.parse());
        Ok(Identity { pid: pid.map_err(|_| wrong())?, since: since.map_err(|_| wrong())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_do_not_outlive_the_run() {
        let pair = |(name, value): (&str, &str)| (OsString::from(name), OsString::from(value));
        let ours =
            [("PATH", "/bin"), ("JAVA_HOME", "/j"), ("GRAFANA_TOKEN", "t"), ("M", "hunter2")];
        let left: Vec<_> = environment(ours.map(pair).into_iter()).collect();
        assert_eq!(left, [("PATH", "/bin"), ("JAVA_HOME", "/j")].map(pair));
    }

    #[test]
    fn a_restarted_broker_sees_only_the_chosen_environment() {
        let folder = tempfile::tempdir().unwrap();
        let command = vec!["env".to_owned()];
        let revival = Revival { command, folder: folder.path().to_owned(), ends_within: None };
        let mut child = revival.start().unwrap().unwrap();
        assert!(child.wait().unwrap().success());
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        assert!(log.lines().any(|line| line.starts_with("PATH=")), "{log}");
        // Cargo sets variables for each test; the broker must not get them.
        assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
        assert!(!log.contains("CARGO_"), "{log}");
    }
}
