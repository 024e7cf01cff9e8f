//! A command of the user's own, with a bound on its time and on what is kept of its output. It is
//! run by the controller, or in its place by the process that undoes a run.

use std::collections::BTreeMap;
use std::env::temp_dir;
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

/// For how long one that was asked to end is waited for.
const ASKED: Duration = Duration::from_secs(1);
/// For how long the end of its output is waited for, which a child of its own may keep open.
const DRAINED: Duration = Duration::from_millis(200);
/// How often one looks.
const LOOK: Duration = Duration::from_millis(5);
/// Waits for a line before it becomes the command; the end of its input ends it. So a command that
/// must be held before it does anything is held in time, and never begins where that fails.
const GATE: [&str; 4] = ["sh", "-c", "read -r _ && exec \"$@\" < /dev/null", "sh"];
/// So much of its output is kept.
const OUTPUT_MOST: u64 = 64 << 10;

/// A command, and all that it needs to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserCommand {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// What it finds in its environment, beside that of the process that runs it.
    pub environment: BTreeMap<String, String>,
    /// How long it may take.
    pub timeout: Span,
    /// What it prints is appended to this file.
    pub log: PathBuf,
}

/// Why a command did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The system refused.
    #[error("`{command}` cannot be started")]
    Start {
        /// The command.
        command: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It says so itself.
    #[error("`{command}` failed: {status}; what it printed is in {}", log.display())]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// Its output.
        log: PathBuf,
    },
    /// It took too long, and was ended.
    #[error("`{command}` did not end within {timeout}, and was ended")]
    Late {
        /// The command.
        command: String,
        /// How long it may take.
        timeout: Span,
    },
    /// It was ended before its time.
    #[error("`{command}` was ended, for the run is")]
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

/// A command in one line, as a shell would have it.
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
    /// How long it may take until it is known how it went.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.timeout.get() + 2 * ASKED
    }

    /// Starts it. It does nothing until [`go`](Running::go).
    ///
    /// # Errors
    /// The system refuses.
    pub fn prepare(&self) -> Result<Running<'_>, CommandError> {
        let gated = GATE.iter().map(ToString::to_string).chain(self.command.iter().cloned());
        self.spawn(&gated.collect::<Vec<_>>(), Stdio::piped())
    }

    /// Starts it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn start(&self) -> Result<Running<'_>, CommandError> {
        self.spawn(&self.command, Stdio::null())
    }

    fn spawn(&self, words: &[String], input: Stdio) -> Result<Running<'_>, CommandError> {
        let refused = |source| CommandError::Start { command: self.to_string(), source };
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "there is no command");
        let (program, arguments) = words.split_first().ok_or_else(nothing).map_err(refused)?;
        // The run's folder may be gone by now, and that keeps no undo from being run.
        let open = |path: &Path| File::options().append(true).create(true).open(path);
        let mut log = open(&self.log).or_else(|_| open(Path::new("/dev/null"))).map_err(refused)?;
        let folder = if self.folder.is_dir() { self.folder.clone() } else { temp_dir() };
        writeln!(log, "$ {self}").map_err(refused)?;
        let (output, said) = io::pipe().map_err(refused)?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .envs(&self.environment)
            .stdin(input)
            .stdout(said.try_clone().map_err(refused)?)
            .stderr(said)
            // Ctrl-C is for the controller alone; and it is ended with all that it started.
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
    /// It did not do what it should.
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

/// Appends what comes to the log, up to a bound. The rest is read all the same, so that the command
/// never waits on a full pipe.
fn keep(mut output: PipeReader, log: &mut File) {
    let kept = io::copy(&mut (&mut output).take(OUTPUT_MOST), log);
    if kept.is_ok_and(|bytes| bytes == OUTPUT_MOST) {
        writeln!(log, "\n(what follows is not kept)").ok();
    }
    io::copy(&mut output, &mut io::sink()).ok();
}

/// A command that was started. One that is dropped is ended.
pub struct Running<'a> {
    of: &'a UserCommand,
    child: Child,
    /// What it waits for, where it does.
    gate: Option<ChildStdin>,
    began: Mono,
    /// Since when it has been asked to end.
    asked: Option<Mono>,
    hurried: bool,
    drained: Receiver<()>,
}

impl Running<'_> {
    /// Lets it begin.
    ///
    /// # Errors
    /// It has ended.
    pub fn go(&mut self) -> Result<(), CommandError> {
        let Some(mut gate) = self.gate.take() else { return Ok(()) };
        let command = || self.of.to_string();
        writeln!(gate).map_err(|source| CommandError::Start { command: command(), source })
    }

    /// Its process id; that of its process group as well.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, once it has; to be asked again and again, for that is what keeps it to its
    /// time. One that is to `hurry` is asked to end at once.
    pub fn poll(&mut self, hurry: bool) -> Option<Result<(), CommandError>> {
        let command = || self.of.to_string();
        match self.child.try_wait() {
            Err(source) => return Some(Err(CommandError::Start { command: command(), source })),
            Ok(Some(status)) => {
                // What a child of its own keeps open is not waited for.
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

    /// To all of its process group, which is there as long as it was not waited for.
    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
            && let Err(error) = kill_process_group(group, signal)
        {
            tracing::warn!(command = %self.of, error = chain(&error), "It cannot be signalled.");
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

    fn command(folder: &std::path::Path, words: &[&str]) -> UserCommand {
        UserCommand {
            command: words.iter().map(ToString::to_string).collect(),
            folder: folder.to_owned(),
            environment: BTreeMap::from([("TANDEM_FAULT".to_owned(), "1.x".to_owned())]),
            timeout: Span::ms(20_000),
            log: folder.join("log"),
        }
    }

    #[test]
    fn what_it_prints_is_kept_up_to_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo $TANDEM_FAULT in $PWD; head -c 200000 /dev/zero | tr '\\0' x";
        command(folder.path(), &["sh", "-c", script]).run().unwrap();
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        assert!(log.starts_with("$ sh -c 'echo"), "{log}");
        assert!(log.contains(&format!("\n1.x in {}\n", folder.path().display())), "{log}");
        assert!(log.len() < 70_000 && log.ends_with("(what follows is not kept)\n"));
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        // It does not hear that it is asked, and neither does its child.
        let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > child; sleep 60' & wait";
        let began = Mono::now();
        let command = command(folder.path(), &["sh", "-c", script]);
        let error = UserCommand { timeout: Span::ms(500), ..command }.run().unwrap_err();
        assert!(matches!(error, CommandError::Late { .. }), "{error}");
        assert!(Mono::now().since(began) < Duration::from_secs(20));
        let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
        let gone = || super::super::started(child.trim().parse().unwrap()).is_none();
        let began = Mono::now();
        while !gone() {
            assert!(Mono::now().since(began) < Duration::from_secs(5), "{child} lives");
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn one_that_is_prepared_does_nothing_until_it_may_go() {
        let folder = tempfile::tempdir().unwrap();
        let made = |name: &str| folder.path().join(name).exists();
        let (gone, held) = (["touch", "gone"], ["touch", "held"]);
        let (gone, held) = (command(folder.path(), &gone), command(folder.path(), &held));
        let mut running = gone.prepare().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(running.poll(false).is_none() && !made("gone"));
        running.go().unwrap();
        let began = Mono::now();
        while running.poll(false).transpose().unwrap().is_none() {
            assert!(Mono::now().since(began) < Duration::from_secs(5));
            std::thread::sleep(LOOK);
        }
        assert!(made("gone"));
        // As where its controller dies.
        let mut running = held.prepare().unwrap();
        running.gate.take();
        while running.poll(false).is_none() {
            std::thread::sleep(LOOK);
        }
        assert!(!made("held"));
    }

    #[test]
    fn one_whose_folder_is_gone_is_run_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        let mut command = command(folder.path(), &["touch", made.to_str().unwrap()]);
        (command.folder, command.log) =
            (folder.path().join("gone"), folder.path().join("gone/log"));
        command.run().unwrap();
        assert!(made.exists());
    }

    #[test]
    fn one_that_fails_says_how() {
        let folder = tempfile::tempdir().unwrap();
        let said = |words: &[&str]| chain(&command(folder.path(), words).run().unwrap_err());
        assert!(
            said(&["sh", "-c", "exit 3"]).starts_with("`sh -c 'exit 3'` failed: exit status: 3")
        );
        assert!(said(&["/nonexistent"]).starts_with("`/nonexistent` cannot be started: No such"));
    }
}
