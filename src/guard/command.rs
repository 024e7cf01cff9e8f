//! A command of the user, with a limit on its time and on the output that is kept. The controller
//! runs it, or, if the controller is gone, the process that undoes the run.

use std::collections::BTreeMap;
use std::env::temp_dir;
use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::error::chain;
use crate::time::{Mono, Span};

/// How long a command has to end after SIGTERM.
const ASKED: Duration = Duration::from_secs(1);
/// How long to wait for the end of its output, which a child of the command may keep open.
const DRAINED: Duration = Duration::from_millis(200);
/// The polling interval.
const LOOK: Duration = Duration::from_millis(5);
/// How many bytes of output are kept.
const OUTPUT_MOST: u64 = 64 << 10;

/// A command, with everything needed to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserCommand {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory.
    pub folder: PathBuf,
    /// Variables that are added to the environment of the process that runs it.
    pub environment: BTreeMap<String, String>,
    /// The time limit.
    pub timeout: Span,
    /// The file to which its output is appended.
    pub log: PathBuf,
}

/// A command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The process cannot be started.
    #[error("`{command}` cannot be started")]
    Start {
        /// The command.
        command: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// It ended with an error.
    #[error("`{command}` failed: {status}; its output is in {}", log.display())]
    Failed {
        /// The command.
        command: String,
        /// Its exit status.
        status: ExitStatus,
        /// The file with its output.
        log: PathBuf,
    },
    /// It exceeded its time limit, and was killed.
    #[error("`{command}` did not end within {timeout}, and was killed")]
    Late {
        /// The command.
        command: String,
        /// The time limit.
        timeout: Span,
    },
    /// It was ended early, because the run is ending.
    #[error("`{command}` was ended because the run is ending")]
    Hurried {
        /// The command.
        command: String,
    },
}

impl Display for UserCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.command))
    }
}

/// A command as one line, quoted for a shell.
#[must_use]
pub fn shown(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    let word = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            return word.clone();
        }
        format!("'{}'", word.replace('\'', r"'\''"))
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

impl UserCommand {
    /// The longest time until its result is known.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.timeout.get() + 2 * ASKED
    }

    /// Starts it behind `gate`, a program that waits for a line before it becomes the command, and
    /// ends if its input ends first: `tandem gate --`. So it does nothing until
    /// [`go`](Running::go) is called, and the guard can hold the process before.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn prepare(&self, gate: &[&OsStr]) -> Result<Running<'_>, CommandError> {
        let words = gate.iter().copied().chain(self.command.iter().map(OsStr::new));
        self.spawn(&words.collect::<Vec<_>>(), Stdio::piped())
    }

    /// Starts it.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(&self) -> Result<Running<'_>, CommandError> {
        self.spawn(&self.command.iter().map(OsStr::new).collect::<Vec<_>>(), Stdio::null())
    }

    fn spawn(&self, words: &[&OsStr], input: Stdio) -> Result<Running<'_>, CommandError> {
        let refused = |source| CommandError::Start { command: self.to_string(), source };
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
        let (program, arguments) = words.split_first().ok_or_else(nothing).map_err(refused)?;
        // If the run's folder is gone by now, the command that undoes a fault still has to run.
        let open = |path: &Path| File::options().append(true).create(true).open(path);
        let mut log = open(&self.log).or_else(|_| open(Path::new("/dev/null"))).map_err(refused)?;
        let folder = if self.folder.is_dir() { self.folder.clone() } else { temp_dir() };
        // A disk that the fault has filled takes no line, and is emptied by what undoes it.
        writeln!(log, "$ {self}").ok();
        let (output, said) = io::pipe().map_err(refused)?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .envs(&self.environment)
            .stdin(input)
            .stdout(said.try_clone().map_err(refused)?)
            .stderr(said)
            // A group of its own: Ctrl-C must reach only the controller, and a kill must reach all
            // processes that the command starts.
            .process_group(0)
            .spawn()
            .map_err(refused)?;
        let (done, drained) = sync_channel(1);
        let keep = move || {
            keep(output, &mut log);
            done.send(()).ok();
        };
        let mut running = Running {
            of: self,
            gate: child.stdin.take(),
            child,
            began: Mono::now(),
            asked: None,
            hurried: false,
            drained,
        };
        match Builder::new().name("command-log".to_owned()).spawn(keep) {
            Ok(_) => Ok(running),
            Err(source) => {
                running.end();
                Err(refused(source))
            }
        }
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It cannot be started, fails, or exceeds its time limit.
    pub fn run(&self) -> Result<(), CommandError> {
        let mut running = self.start()?;
        loop {
            if let Some(done) = running.poll(false) {
                return done;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Appends output to the log, up to a limit. The rest is read and dropped, so that the command
/// never blocks on a full pipe.
fn keep(mut output: PipeReader, log: &mut File) {
    let kept = io::copy(&mut (&mut output).take(OUTPUT_MOST), log);
    if kept.is_ok_and(|bytes| bytes == OUTPUT_MOST) {
        writeln!(log, "\n(the rest of the output is not kept)").ok();
    }
    io::copy(&mut output, &mut io::sink()).ok();
}

/// A running command. Dropping it kills the process group.
pub struct Running<'a> {
    of: &'a UserCommand,
    child: Child,
    /// The pipe on which a prepared command waits for its start.
    gate: Option<ChildStdin>,
    began: Mono,
    /// When SIGTERM was sent.
    asked: Option<Mono>,
    hurried: bool,
    drained: Receiver<()>,
}

impl Running<'_> {
    /// Lets a prepared command start.
    ///
    /// # Errors
    /// The process has ended.
    pub fn go(&mut self) -> Result<(), CommandError> {
        let Some(mut gate) = self.gate.take() else { return Ok(()) };
        let command = || self.of.to_string();
        writeln!(gate).map_err(|source| CommandError::Start { command: command(), source })
    }

    /// Its process id, which is also the id of its process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The result, once it has ended. Call this repeatedly: it also enforces the time limit. With
    /// `hurry` the command is asked to end at once.
    pub fn poll(&mut self, hurry: bool) -> Option<Result<(), CommandError>> {
        let command = || self.of.to_string();
        match self.child.try_wait() {
            Err(source) => return Some(Err(CommandError::Start { command: command(), source })),
            Ok(Some(status)) => {
                // A child of the command may keep the pipe open for longer; do not wait for it.
                self.drained.recv_timeout(DRAINED).ok();
                return Some(match (self.asked, self.hurried) {
                    (None, _) if status.success() => Ok(()),
                    (None, _) => {
                        let (command, log) = (command(), self.of.log.clone());
                        Err(CommandError::Failed { command, status, log })
                    }
                    (Some(_), true) => Err(CommandError::Hurried { command: command() }),
                    (Some(_), false) => {
                        let timeout = self.of.timeout;
                        Err(CommandError::Late { command: command(), timeout })
                    }
                });
            }
            Ok(None) => {}
        }
        let now = Mono::now();
        match self.asked {
            None if hurry || now.since(self.began) >= self.of.timeout.get() => {
                (self.asked, self.hurried) = (Some(now), hurry);
                self.signal(Signal::TERM);
            }
            Some(asked) if now.since(asked) >= ASKED => self.signal(Signal::KILL),
            None | Some(_) => {}
        }
        None
    }

    /// Sends a signal to its process group, which exists as long as the child is not reaped.
    fn signal(&self, signal: Signal) {
        if let Err(error) = kill_process_group(Pid::from_child(&self.child), signal) {
            tracing::warn!(command = %self.of, error = chain(&error), "A command got no signal.");
        }
    }

    fn end(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            self.child.wait().ok();
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `tandem gate` does.
    const GATE: [&str; 4] = ["sh", "-c", "read -r _ && exec \"$@\"", "sh"];

    /// Nothing takes as long on a busy host, and what sleeps here sleeps for much longer.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Waits until it is so.
    fn eventually(what: &str, mut so: impl FnMut() -> bool) {
        let began = Mono::now();
        while !so() {
            assert!(Mono::now().since(began) < PATIENCE, "{what}: not within {PATIENCE:?}");
            std::thread::sleep(LOOK);
        }
    }

    fn command(folder: &std::path::Path, words: &[&str]) -> UserCommand {
        UserCommand {
            command: words.iter().map(ToString::to_string).collect(),
            folder: folder.to_owned(),
            environment: BTreeMap::from([("TANDEM_FAULT".to_owned(), "1.x".to_owned())]),
            timeout: Span(2 * PATIENCE),
            log: folder.join("log"),
        }
    }

    #[test]
    fn output_is_kept_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo $TANDEM_FAULT in $PWD; head -c 200000 /dev/zero | tr '\\0' x";
        command(folder.path(), &["sh", "-c", script]).run().unwrap();
        // Nothing waits long for the end of the output.
        let mut log = String::new();
        eventually("the end of the log", || {
            log = std::fs::read_to_string(folder.path().join("log")).unwrap();
            log.ends_with("(the rest of the output is not kept)\n")
        });
        assert!(log.starts_with("$ sh -c 'echo"), "{log}");
        assert!(log.contains(&format!("\n1.x in {}\n", folder.path().display())), "{log}");
        assert!(log.len() < 70_000, "{} bytes", log.len());
    }

    #[test]
    fn a_late_command_is_killed_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        // Both the command and its child ignore SIGTERM.
        let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > child; sleep 600' & wait";
        let command = command(folder.path(), &["sh", "-c", script]);
        let command = UserCommand { timeout: Span::ms(1), ..command };
        // It is late from its first look on, which comes once both ignore the signal.
        let mut running = command.start().unwrap();
        let mut child = String::new();
        eventually("both ignore the signal", || {
            child = std::fs::read_to_string(folder.path().join("child")).unwrap_or_default();
            child.ends_with('\n')
        });
        let mut done = None;
        eventually("the end of the command", || {
            done = running.poll(false);
            done.is_some()
        });
        let error = done.unwrap().unwrap_err();
        assert!(matches!(error, CommandError::Late { .. }), "{error}");
        let child = child.trim().parse().unwrap();
        eventually("the end of its child", || super::super::started(child).is_none());
    }

    #[test]
    fn a_prepared_command_does_nothing_until_it_may_go() {
        let folder = tempfile::tempdir().unwrap();
        let made = |name: &str| folder.path().join(name).exists();
        let (gone, held) = (["touch", "gone"], ["touch", "held"]);
        let (gone, held) = (command(folder.path(), &gone), command(folder.path(), &held));
        let mut running = gone.prepare(&GATE.map(OsStr::new)).unwrap();
        // Nothing that comes later shows that it did nothing until then.
        std::thread::sleep(Duration::from_millis(50));
        assert!(running.poll(false).is_none() && !made("gone"));
        running.go().unwrap();
        eventually("its end", || running.poll(false).transpose().unwrap().is_some());
        assert!(made("gone"));
        // The pipe closes, as it does when the controller dies.
        let mut running = held.prepare(&GATE.map(OsStr::new)).unwrap();
        running.gate.take();
        eventually("its end", || running.poll(false).is_some());
        assert!(!made("held"));
    }

    #[test]
    fn a_command_runs_although_its_folder_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        let mut command = command(folder.path(), &["touch", made.to_str().unwrap()]);
        (command.folder, command.log) =
            (folder.path().join("gone"), folder.path().join("gone/log"));
        command.run().unwrap();
        assert!(made.exists());
    }

    #[test]
    fn a_failed_command_reports_how() {
        let folder = tempfile::tempdir().unwrap();
        let said = |words: &[&str]| chain(&command(folder.path(), words).run().unwrap_err());
        assert!(
            said(&["sh", "-c", "exit 3"]).starts_with("`sh -c 'exit 3'` failed: exit status: 3")
        );
        assert!(said(&["/nonexistent"]).starts_with("`/nonexistent` cannot be started: No such"));
    }
}
