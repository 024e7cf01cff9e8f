//! One run of a suite, as a child process, and the signals that are forwarded to it.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::verdict::Exit;

use super::list::{Item, Passed};
use crate::chaos::Permission;
use crate::host::{ending_signals, tandem};

/// How many characters of a failed run's standard error the summary shows.
const WHY_MOST: usize = 400;

/// A running run.
pub(super) struct Child {
    child: std::process::Child,
    stderr: PathBuf,
}

impl Child {
    /// Starts it. Its output goes to files beside its folder.
    pub(super) fn start(
        program: &Path,
        item: &Item,
        passed: &Passed<'_>,
        folder: &Path,
    ) -> io::Result<Self> {
        let stderr = folder.with_extension("stderr");
        let mut command = tandem(program);
        command.args(["chaos", "run"]).arg(&item.experiment).arg("--out").arg(folder);
        if let Some(topology) = &item.topology {
            command.arg("-f").arg(topology);
        }
        for (flag, value) in [("--trials", item.trials.map(u64::from)), ("--seed", item.seed)] {
            command.args(value.map(|value| format!("{flag}={value}")));
        }
        if passed.allow_exec {
            command.arg(Permission::Exec.option());
        }
        command.args(passed.overrides.iter().map(|one| format!("--set={one}")));
        command.args(&passed.more).stdin(Stdio::null());
        command.stdout(File::create(folder.with_extension("stdout"))?);
        command.stderr(File::create(&stderr)?);
        // Outside the terminal's foreground group: this process forwards Ctrl-C, once.
        Ok(Self { child: command.process_group(0).spawn()?, stderr })
    }

    /// Waits for its end, and forwards signals meanwhile. Returns its exit code, and, if it could
    /// not run, what it printed to standard error.
    pub(super) fn finish(mut self, signals: &Signals) -> (Exit, String) {
        signals.pass_to(Some(self.child.id()));
        // Until it is reaped, its pid cannot be reused.
        if let Some(pid) = pid(self.child.id()) {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), ended).is_err_and(|error| error == Errno::INTR) {}
        }
        signals.pass_to(None);
        let ended = self.child.wait();
        let code = match ended {
            // A run that was killed by a signal has no verdict.
            Ok(status) => status.code().and_then(Exit::of_code).unwrap_or(Exit::Unknown),
            Err(error) => return (Exit::Unknown, error.to_string()),
        };
        let why = if matches!(code, Exit::Unable | Exit::Invalid) {
            self.last_words()
        } else {
            String::new()
        };
        (code, why)
    }

    fn last_words(&self) -> String {
        sentence(&fs::read_to_string(&self.stderr).unwrap_or_default())
    }
}

/// What a run that could not start says last on standard error: after its progress and its log.
fn sentence(text: &str) -> String {
    let progress =
        ["starting ", "stopping ", "trial ", "not in this folder", "of OpenTelemetry's variables"];
    let other =
        |line: &str| is_logged(line) || progress.iter().any(|begin| line.starts_with(begin));
    let last: Vec<&str> = text.lines().rev().take_while(|line| !other(line)).collect();
    let words: Vec<&str> =
        last.into_iter().rev().map(str::trim).filter(|it| !it.is_empty()).collect();
    words.join(" ").chars().take(WHY_MOST).collect()
}

/// Whether a line is of the log: it begins with a time and a level.
fn is_logged(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let time = words.next().is_some_and(|word| word.parse::<jiff::Timestamp>().is_ok());
    time && words.next().is_some_and(|word| word.parse::<tracing::Level>().is_ok())
}

/// The signals that end a suite.
pub(super) struct Signals {
    heard: Arc<AtomicU32>,
    child: Arc<Mutex<Option<u32>>>,
}

impl Signals {
    /// Listens until the process ends. The first signal asks the current run to heal and end; the
    /// second ends it at once, and its guard undoes the rest.
    pub(super) fn listen() -> io::Result<Self> {
        let (heard, child) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(None)));
        let mut signals = signal_hook::iterator::Signals::new(ending_signals())?;
        let (count, to) = (Arc::clone(&heard), Arc::clone(&child));
        let _ends_with_the_process =
            thread::Builder::new().name("signals".to_owned()).spawn(move || {
                for _signal in signals.forever() {
                    // Under the lock, so that no run starts between the next two lines.
                    let child = lock(&to);
                    count.fetch_add(1, Ordering::SeqCst);
                    interrupt(*child);
                }
            })?;
        Ok(Self { heard, child })
    }

    /// Whether a signal has come.
    pub(super) fn interrupted(&self) -> bool {
        self.heard.load(Ordering::SeqCst) > 0
    }

    /// Forwards signals to this process from now on, including one that came just before.
    fn pass_to(&self, child: Option<u32>) {
        let mut to = lock(&self.child);
        *to = child;
        if self.interrupted() {
            interrupt(child);
        }
    }
}

fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

fn interrupt(child: Option<u32>) {
    if let Some(pid) = child.and_then(pid) {
        // This fails if the process has just ended.
        kill_process(pid, Signal::INT).ok();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn the_sentence_of_a_run_that_could_not_start_is_neither_progress_nor_log() {
        let text = "not in this folder, so shipped files are used: shipped:/topologies/duo.yaml\n\
                    starting members\n\
                    2026-11-25T08:08:16.272971Z ERROR librdkafka: [thrd:h:1]: failed\n\
                    2026-11-25T08:08:16.273000Z  WARN It may take longer.\n\
                    cluster a cannot be used: cannot connect to h:1\n\
                    cluster b cannot be used\n";
        let wanted = "cluster a cannot be used: cannot connect to h:1 cluster b cannot be used";
        assert_eq!(sentence(text), wanted);
        assert_eq!(sentence("starting members\n"), "");
    }
}
