//! A topology that is kept up, as a user starts it, and its answers to queries.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tandem::guard::{Run, RunLocation, page};
use tandem::journal::{Recording, read_parts};
use tandem::live_view::{Event, Level, Picture};
use tandem::time::Mono;
use tempfile::TempDir;

use super::experiment::{PATIENCE, eventually, output, signal_pid, tandem};

/// Nothing that is asked takes longer.
const SOON: Duration = Duration::from_secs(60);

/// Everything that a run started is gone: its ledger is removed last.
pub fn nothing_is_left(state: &Path) {
    eventually("the end of the guard", SOON, || {
        let ledgers = fs::read_dir(state.join("tandem/runs")).into_iter().flatten().count();
        (ledgers == 0).then_some(())
    });
}

/// `tandem up`, under way. Dropped, it is killed with its supervisor; the guard does the rest.
pub struct Up {
    child: Child,
    state: PathBuf,
    pub out: PathBuf,
    folder: TempDir,
}

impl Up {
    /// Starts it, with a state directory of its own.
    pub fn start(args: &str) -> Self {
        Self::start_with(args, &[])
    }

    /// Starts it, with a state directory of its own and these variables.
    pub fn start_with(args: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let out = folder.path().join("out");
        Self::begin(args, variables, folder, state, out)
    }

    /// The same, with its journals and logs in this folder.
    pub fn start_into(args: &str, variables: &[(&str, &str)], out: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        Self::begin(args, variables, folder, state, out.to_owned())
    }

    /// Starts it with a state directory that is another's as well.
    pub fn start_in(args: &str, state: &Path) -> Self {
        Self::start_from(tandem(state), args, state)
    }

    /// The same, of another program.
    pub fn start_from(command: Command, args: &str, state: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        Self::begin_from(command, args, folder, state.to_owned(), out)
    }

    fn begin(
        args: &str,
        variables: &[(&str, &str)],
        folder: TempDir,
        state: PathBuf,
        out: PathBuf,
    ) -> Self {
        let mut command = tandem(&state);
        command.envs(variables.iter().copied());
        Self::begin_from(command, args, folder, state, out)
    }

    fn begin_from(
        mut command: Command,
        args: &str,
        folder: TempDir,
        state: PathBuf,
        out: PathBuf,
    ) -> Self {
        let log = |name| File::create(folder.path().join(name)).unwrap();
        let child = command
            .arg("up")
            .args(args.split_whitespace())
            .arg("--out")
            .arg(&out)
            .stdout(log("stdout"))
            .stderr(log("stderr"))
            .spawn()
            .unwrap();
        Self { child, state, out, folder }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process that keeps its members running; its ledger names it, also when `up` is dead.
    pub fn supervisor(&self) -> u32 {
        eventually("a supervisor", SOON, || self.supervisor_now())
    }

    fn supervisor_now(&self) -> Option<u32> {
        let out = fs::canonicalize(&self.out).ok()?;
        let ledgers = fs::read_dir(self.state.join("tandem/runs")).into_iter().flatten();
        let mut runs = ledgers.filter_map(|entry| Some(page(&entry.ok()?.path()).ok()?.run));
        // In a PID namespace of its own it has another number here.
        let is_ours = |run: &Run| run.folder == out && run.location() == RunLocation::Here;
        runs.find(is_ours).map(|run| run.controller.pid)
    }

    /// Where it, and who asks it, keep their state.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The temporary folder in which all of it is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has printed, and its warnings.
    pub fn said(&self) -> String {
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        format!("{}---- stderr\n{}", read("stdout"), read("stderr"))
    }

    /// The exit code of `tandem status`, and what it prints.
    pub fn status(&self) -> (Option<i32>, Option<Picture>) {
        let said = output(
            tandem(&self.state).args(["status", "-o", "json", "--pid"]).arg(self.pid().to_string()),
        );
        (said.status.code(), serde_json::from_slice(&said.stdout).ok())
    }

    /// Waits until it stands like this; where all is led, until each member has a first life, too:
    /// those that started sooner may lead everything before.
    pub fn await_health(&self, level: Level) -> Picture {
        eventually(&format!("{level:?}\n{}", self.said()), SOON, || {
            let picture = self.status().1.filter(|picture| picture.health == level)?;
            let all = picture
                .groups
                .values()
                .all(|group| group.members.values().all(|member| member.incarnation.0 > 0));
            (all || level != Level::Led).then_some(picture)
        })
    }

    /// `tandem events --follow`.
    pub fn follow(&self) -> Follower {
        let mut child = tandem(&self.state)
            .args(["events", "--follow", "-o", "json", "--pid", &self.pid().to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, heard) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let event: Event = serde_json::from_str(&line).unwrap();
                if sender.send((Mono::now(), event)).is_err() {
                    return;
                }
            }
        });
        Follower { child, heard, events: Vec::new() }
    }

    pub fn signal(&self, signal: Signal) {
        signal_pid(self.pid(), signal);
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    pub fn ends(&mut self) -> ExitStatus {
        eventually("the end", PATIENCE, || self.child.try_wait().unwrap())
    }

    /// Its journals, read as one.
    pub fn recording(&self) -> Recording {
        read_parts(&self.out).unwrap_or_else(|error| panic!("{error}\n{}", self.said()))
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        // The guard of a killed supervisor ends the rest.
        let pid = self.supervisor_now().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        pid.map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// `tandem events --follow`, and all of its events, with their times of arrival.
pub struct Follower {
    child: Child,
    heard: Receiver<(Mono, Event)>,
    pub events: Vec<(Mono, Event)>,
}

impl Follower {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for an event that was not looked at yet.
    pub fn await_event<T>(&mut self, what: &str, find: impl Fn(&Event) -> Option<T>) -> (Mono, T) {
        let began = Mono::now();
        while Mono::now().since(began) < SOON {
            let Ok((at, event)) = self.heard.recv_timeout(Duration::from_millis(100)) else {
                continue;
            };
            self.events.push((at, event.clone()));
            if let Some(found) = find(&event) {
                return (at, found);
            }
        }
        panic!("{what}: not within {SOON:?}; {:#?}", self.events.last());
    }

    /// Waits until it has ended. Returns all of its events.
    pub fn finish(mut self) -> (ExitStatus, Vec<(Mono, Event)>) {
        let status = eventually("the end of events", SOON, || self.child.try_wait().unwrap());
        while let Ok(heard) = self.heard.recv_timeout(Duration::from_secs(5)) {
            self.events.push(heard);
        }
        (status, std::mem::take(&mut self.events))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
