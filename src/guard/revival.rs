//! How a broker that was killed is started again, by whoever has to.

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

/// Starting takes milliseconds.
const TURN: Duration = Duration::from_millis(500);

/// What a broker that is started again finds in its environment, where it is set: what the shell
/// needs to find programs, and what Java and Kafka read. Nothing else of ours is its business.
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

/// A process that is not ours, which `deploy/kafka/up` started and `deploy/kafka/down` ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revival {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its folder: its log is appended to `log`, its number and start are in `pid`.
    pub folder: PathBuf,
    /// How long it may take to end, where it is asked to; nothing for one that is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_within: Option<Span>,
}

impl Revival {
    /// Starts it, unless it runs, and writes down which process it is.
    ///
    /// # Errors
    /// The system refuses.
    pub fn start(&self) -> io::Result<Option<Child>> {
        // A run that wakes up and the guard that heals it may both be here; but one that was
        // stopped in here must not keep its guard from healing.
        let turn = File::open(&self.folder)?;
        let began = Mono::now();
        while turn.try_lock().is_err() && Mono::now().since(began) < TURN {
            std::thread::sleep(TURN / 100);
        }
        if self.lives() {
            return Ok(None);
        }
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "there is no command");
        let (program, arguments) = self.command.split_first().ok_or_else(nothing)?;
        let log = File::options().append(true).create(true).open(self.folder.join("log"))?;
        let mut child = Command::new(program)
            .args(arguments)
            // It outlives this process, which may have been given passwords and tokens.
            .env_clear()
            .envs(environment(std::env::vars_os()))
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
        Ok(Some(child))
    }

    /// Has the process that is written down go on, where it is paused. It is not ours to kill.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wake(&self) -> io::Result<()> {
        match self.identity() {
            Ok(process) => process.signal(&[Signal::CONT]),
            // Whoever was never written down does not sleep.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether the process that is written down runs.
    #[must_use]
    pub fn lives(&self) -> bool {
        self.identity().is_ok_and(Identity::lives)
    }

    /// Which process it is: its number, and when it started.
    ///
    /// # Errors
    /// Nobody wrote it down.
    pub fn identity(&self) -> io::Result<Identity> {
        let text = fs::read_to_string(self.folder.join("pid"))?;
        let wrong =
            || io::Error::new(io::ErrorKind::InvalidData, format!("{text:?} is no process"));
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
    fn a_broker_that_is_started_again_sees_the_chosen_environment_alone() {
        let folder = tempfile::tempdir().unwrap();
        let command = vec!["env".to_owned()];
        let revival = Revival { command, folder: folder.path().to_owned(), ends_within: None };
        let mut child = revival.start().unwrap().unwrap();
        assert!(child.wait().unwrap().success());
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        assert!(log.lines().any(|line| line.starts_with("PATH=")), "{log}");
        // Cargo tells every test of itself, and that is no broker's business.
        assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
        assert!(!log.contains("CARGO_"), "{log}");
    }
}
