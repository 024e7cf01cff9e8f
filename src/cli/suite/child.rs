//! One run of a suite: a process of its own, and the signals that are passed on to it.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::verdict::Exit;

use super::list::{Item, Passed};
use crate::chaos::Permission;

/// Of what a run said before it could not go on, so much is told.
const WHY_MOST: usize = 400;

/// A run under way.
pub(super) struct Child {
    child: std::process::Child,
    said: PathBuf,
}

impl Child {
    /// Starts it; what it prints goes to files beside its folder.
    pub(super) fn start(
        program: &Path,
        item: &Item,
        passed: &Passed<'_>,
        folder: &Path,
    ) -> io::Result<Self> {
        let said = folder.with_extension("stderr");
        let mut command = Command::new(program);
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
        command.stderr(File::create(&said)?);
        // Out of the terminal's foreground group: Ctrl-C reaches it once, through us.
        Ok(Self { child: command.process_group(0).spawn()?, said })
    }

    /// Waits for its end, passing signals on; its exit code, and its last words where it could not
    /// run.
    pub(super) fn finish(mut self, signals: &Signals) -> (Exit, String) {
        signals.pass_to(Some(self.child.id()));
        // Until it is waited for, its number is its own.
        if let Some(pid) = pid(self.child.id()) {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), ended).is_err_and(|error| error == Errno::INTR) {}
        }
        signals.pass_to(None);
        let ended = self.child.wait();
        let code = match ended {
            // One that a signal ended was killed by somebody: nobody knows what it would have said.
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
        let said = fs::read_to_string(&self.said).unwrap_or_default();
        let milestone = |line: &&str| line.starts_with("starting ") || line.trim().is_empty();
        let words: Vec<&str> = said.lines().filter(|line| !milestone(line)).collect();
        words.join(" ").chars().take(WHY_MOST).collect()
    }
}

/// The signals that end a suite.
pub(super) struct Signals {
    heard: Arc<AtomicU32>,
    child: Arc<Mutex<Option<u32>>>,
}

impl Signals {
    /// Listens until the process ends. The first signal asks the run under way to end, healed; a
    /// second tells it to leave that to its guard.
    pub(super) fn listen() -> io::Result<Self> {
        let (heard, child) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(None)));
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let (count, to) = (Arc::clone(&heard), Arc::clone(&child));
        let _ends_with_the_process =
            thread::Builder::new().name("signals".to_owned()).spawn(move || {
                for _signal in signals.forever() {
                    // Under the lock, so that no run starts between the two.
                    let child = lock(&to);
                    count.fetch_add(1, Ordering::SeqCst);
                    interrupt(*child);
                }
            })?;
        Ok(Self { heard, child })
    }

    /// Whether one came.
    pub(super) fn interrupted(&self) -> bool {
        self.heard.load(Ordering::SeqCst) > 0
    }

    /// From now on they reach this process; it hears of one that came just before.
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
        // One that has just ended needs no signal.
        kill_process(pid, Signal::INT).ok();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
