//! Experiments as a user starts them: the real binary, in a folder and a state directory of its
//! own.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tandem::journal::{self, Recording};
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::Timeline;
use tandem::verdict::{Report, undisturbed};

use super::memory::{self, Folder};
use super::waiting::{self, LOOK};

/// Nothing here takes longer, however loaded the machine.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// How often a condition is looked at where the instant is what is wanted, and a look costs little.
const GLANCE: Duration = Duration::from_millis(2);

/// When the host has disturbed a trial, in experiments that tests write.
pub const DISTURBED: &str = "disturbed: {stall: 50ms}";

/// Waits until `done` has something to say.
pub fn eventually<T>(what: &str, within: Duration, done: impl FnMut() -> Option<T>) -> T {
    looking_each(LOOK, what, within, done)
}

fn looking_each<T>(
    pause: Duration,
    what: &str,
    within: Duration,
    mut done: impl FnMut() -> Option<T>,
) -> T {
    waiting::looking_each(pause, what, within, || done().ok_or_else(String::new))
}

/// `tandem` with a state directory of its own, its output free of colours.
pub fn tandem(state: &Path) -> Command {
    dressed(Command::new(crate::program()), state)
}

/// The same, of a copy of the program.
pub fn tandem_at(program: &Path, state: &Path) -> Command {
    dressed(Command::new(program), state)
}

/// The same, after a shell has set the stage for it.
fn staged(script: &str, state: &Path) -> Command {
    let mut shell = dressed(Command::new("sh"), state);
    shell.args(["-c", &format!("{script}; exec \"$0\" \"$@\"")]);
    shell.arg(crate::program());
    shell
}

fn dressed(mut command: Command, state: &Path) -> Command {
    command
        .current_dir(crate::ROOT)
        .env("XDG_STATE_HOME", state)
        .env("NO_COLOR", "1")
        .env_remove("RUST_LOG")
        .env_remove("TANDEM_KAFKA")
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn output(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// The text of an experiment that is shipped, without what it claims, and without the rule on
/// disturbed trials, which only claims need.
pub fn claimless(name: &str) -> String {
    let shipped = fs::read_to_string(format!("chaos/{name}.yaml")).unwrap();
    let mut claims = false;
    let kept = shipped.lines().filter(|line| {
        claims = line.starts_with("assert:") || (claims && line.starts_with(' '));
        !claims && !line.starts_with("disturbed:") && !line.starts_with("objective:")
    });
    let kept = kept.collect::<Vec<_>>().join("\n");
    assert!(kept.contains("\nmethod:\n") && kept.len() < shipped.len(), "{shipped}");
    format!("{kept}\nrecover: {{within: 5m}}\nobjective: {{leaders_per_group: 0}}\n")
}

/// A run that is about to be started.
pub struct Experiment {
    /// Everything of this run is in here.
    pub folder: Folder,
    args: Vec<String>,
    program: Option<Command>,
    before: Option<&'static str>,
    variables: Vec<(String, String)>,
    state: PathBuf,
    out: PathBuf,
}

impl Experiment {
    /// `tandem chaos run FILE`.
    pub fn new(file: &str) -> Self {
        let args = ["chaos", "run", file].map(str::to_owned).to_vec();
        let folder = memory::folder();
        let (state, out) = (folder.path().join("state"), folder.path().join("out"));
        let variables = Vec::new();
        Self { folder, args, program: None, before: None, variables, state, out }
    }

    /// One that does nothing for so long.
    pub fn calm(lasts: &str) -> Self {
        Self::shortened("calm", "for: 60s", &format!("for: {lasts}"))
    }

    /// One that is shipped, in which something lasts less long.
    pub fn shortened(name: &str, from: &str, to: &str) -> Self {
        let shipped = fs::read_to_string(format!("chaos/{name}.yaml")).unwrap();
        assert!(shipped.contains(from), "{name} says {from:?} as it is shipped");
        Self::of(&format!("{name}.yaml"), &shipped.replace(from, to))
    }

    /// One that is shipped, without what it claims: a busy host breaks no claim, and such a run
    /// passes. For tests of something else than lengths.
    pub fn claimless(name: &str) -> Self {
        Self::of(&format!("{name}.yaml"), &claimless(name))
    }

    /// An experiment that the test writes.
    pub fn of(name: &str, text: &str) -> Self {
        let mut order = Self::new(name);
        order.args[2] = order.write(name, text).display().to_string();
        order
    }

    /// Further arguments, as they would be typed.
    pub fn with(mut self, args: &str) -> Self {
        self.args.extend(args.split_whitespace().map(str::to_owned));
        self
    }

    /// A variable of its environment.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Shell commands that set the stage for the process.
    pub fn after(mut self, script: &'static str) -> Self {
        self.before = Some(script);
        self
    }

    /// The state directory of this run, which may be another's as well.
    pub fn in_state(mut self, state: &Path) -> Self {
        self.state = state.to_owned();
        self
    }

    /// Has `tandem` started like this, perhaps on another host.
    pub fn by(mut self, tandem: Command) -> Self {
        self.program = Some(tandem);
        self
    }

    /// A file beside the run.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Where journal, logs and result will be.
    pub fn out(&self) -> PathBuf {
        self.out.clone()
    }

    /// Has them there.
    pub fn into(mut self, out: &Path) -> Self {
        self.out = out.to_owned();
        self
    }

    /// The same with the rule on disturbed trials, where the file does not state it.
    pub fn with_rule(mut self) -> Self {
        let path = PathBuf::from(&self.args[2]);
        let text = fs::read_to_string(&path).unwrap();
        if !text.lines().any(|line| line.starts_with("disturbed:")) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let copy = self.write(name, &format!("{text}\n{DISTURBED}\n"));
            self.args[2] = copy.display().to_string();
        }
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let program = self.program.take();
        let state = &self.state;
        let usual = || self.before.map_or_else(|| tandem(state), |set| staged(set, state));
        let mut command = program.unwrap_or_else(usual);
        let (log, out) = (|name| File::create(self.folder.path().join(name)).unwrap(), self.out());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.args(&self.args).args(crate::cases::seed_beside(&self.args)).arg("--out").arg(&out);
        let child = command.stdout(log("stdout")).stderr(log("stderr")).spawn().unwrap();
        Running { child, folder: self.folder, out }
    }

    /// Runs it to its end.
    pub fn finish(self) -> Finished {
        self.start().finish()
    }
}

/// A run that is under way. Dropped, it is killed; its guard does the rest.
pub struct Running {
    child: Child,
    folder: Folder,
    out: PathBuf,
}

impl Running {
    /// The controller.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the controller alone.
    pub fn signal(&self, signal: Signal) {
        signal_pid(self.pid(), signal);
    }

    /// The file that its standard error goes to.
    pub fn stderr(&self) -> PathBuf {
        self.folder.path().join("stderr")
    }

    /// Its journal.
    pub fn journal(&self) -> PathBuf {
        self.out.join("journal.jsonl")
    }

    /// The facts that are in the journal by now.
    pub fn facts(&self) -> Vec<Fact> {
        journal::read(&self.journal()).map_or_else(|_| Vec::new(), |all| all.facts)
    }

    /// Waits for a fact, or several.
    pub fn await_facts<T>(&self, what: &str, find: impl Fn(&[Fact]) -> Option<T>) -> T {
        eventually(what, Duration::from_secs(120), || find(&self.facts()))
    }

    /// Waits for its end.
    pub fn finish(self) -> Finished {
        self.finish_within(PATIENCE)
    }

    /// Waits so long for its verdict, and then for its end; how long it was there after its
    /// verdict.
    pub fn finish_timed(mut self, within: Duration) -> (Finished, Duration) {
        let stdout = self.folder.path().join("stdout");
        looking_each(GLANCE, "the verdict", within, || {
            let ended = fs::metadata(&stdout).is_ok_and(|file| file.len() > 0);
            (ended || self.child.try_wait().unwrap().is_some()).then_some(())
        });
        let ended = Mono::now();
        looking_each(GLANCE, "the end", PATIENCE, || self.child.try_wait().unwrap());
        let late = Mono::now().since(ended);
        (self.finish(), late)
    }

    /// Waits so long for its end.
    pub fn finish_within(mut self, within: Duration) -> Finished {
        let ended = || self.child.try_wait().unwrap();
        let status = eventually("the end of the run", within, ended);
        let read = |name: &str| {
            let bytes = fs::read(self.folder.path().join(name)).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (read("stdout"), read("stderr"));
        let folder = std::mem::replace(&mut self.folder, memory::folder());
        Finished { status, stdout, stderr, out: self.out.clone(), folder }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends a signal to a process that is surely still what it was.
pub fn signal_pid(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// A run that has ended.
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub out: PathBuf,
    pub folder: Folder,
}

impl Finished {
    /// What it ended with; nothing where a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// `result.json`, byte for byte.
    pub fn result(&self) -> String {
        fs::read_to_string(self.out.join("result.json")).unwrap_or_else(|_| panic!("{self}"))
    }

    /// Whether the host has disturbed more than a third of its trials, independent of their
    /// outcomes.
    pub fn is_disturbed(&self) -> bool {
        let text = fs::read_to_string(self.out.join("result.json")).unwrap_or_default();
        serde_json::from_str(&text).is_ok_and(|report| super::quiet::is_disturbed(&report))
    }

    /// Its report, read.
    pub fn report(&self) -> Report {
        serde_json::from_str(&self.result()).unwrap()
    }

    /// The journal up to its last whole line.
    pub fn recording(&self) -> Recording {
        journal::read(&self.out.join("journal.jsonl"))
            .unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// What its undisturbed trials show, as its report has it.
    pub fn timeline(&self) -> Timeline {
        let Recording { header, facts, .. } = self.recording();
        let all = Timeline::compute(&header.plan, &facts);
        undisturbed(&header.brief, &header.plan, &all).into_owned()
    }

    /// How many trials were played, those among them that the host disturbed.
    pub fn played(&self) -> usize {
        let ended = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialEnded { .. }));
        self.recording().facts.iter().filter(ended).count()
    }

    /// How many trials count: the host has not disturbed them.
    pub fn counted(&self) -> usize {
        self.timeline().record.trials.len()
    }

    /// The facts of the trials that count.
    pub fn counted_facts(&self) -> Vec<Fact> {
        let trials = self.timeline().record.trials;
        let counts = |fact: &Fact| trials.iter().any(|trial| trial.window.contains(fact.t));
        self.recording().facts.into_iter().filter(counts).collect()
    }

    /// `tandem report` on its folder.
    pub fn judged_again(&self) -> Output {
        output(tandem(self.folder.path()).arg("report").arg(&self.out))
    }
}

/// What a failed test shows, the seed above all.
impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = journal::read(&self.out.join("journal.jsonl")).map(|all| all.header.seed);
        writeln!(f, "the run with seed {seed:?} ended with {}", self.status)?;
        writeln!(f, "---- stdout\n{}\n---- stderr\n{}", self.stdout, self.stderr)
    }
}

/// One member that leads one role, with a session of 10 s: nothing happens but what a test plants.
pub const LONELY: &str = "\
version: 1
name: lonely
roles: [only]
clusters: {a: embedded}
groups:
  p1: {cluster: a, partitions: 1, members: 1}
defaults: {session: 10s, heartbeat: 1s, threshold: 30s}
";
