//! The scheduler in Python: no job runs twice, and none is lost, while its machine is paused and
//! while its store is locked.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::{Hold, SOON, Stage};
use support::web::get;

/// Pauses of the leader.
const ROUNDS: usize = 2;
/// A busy host gets a job done within a promise.
const GROUP: &str = "mode: exclusive, session: 3s, hold: 1500ms";

/// Takes SQLite's lock for writing, within some seconds; says so, and keeps it for some more.
const LOCK: &str = "import sqlite3, sys, time\n\
    store = sqlite3.connect(sys.argv[1], timeout=float(sys.argv[2]), isolation_level=None)\n\
    store.execute('BEGIN IMMEDIATE')\n\
    print('locked', flush=True)\n\
    time.sleep(float(sys.argv[3]))\n\
    store.execute('ROLLBACK')";

/// A sidecar and the scheduler that asks it.
struct Machine {
    hold: Hold,
    port: u16,
    scheduler: Child,
}

impl Machine {
    fn start(stage: &Stage, name: &str) -> Self {
        let (hold, port) = stage.serve(name, &[]);
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/scheduler.py");
        let scheduler = Command::new("python3")
            .arg(script)
            .args([&format!("http://127.0.0.1:{port}"), "r"])
            .arg(stage.path("jobs.db"))
            .arg(name)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { hold, port, scheduler }
    }

    fn leads(&self) -> bool {
        get(self.port, "/v1/roles/r").is_ok_and(|(status, _)| status == 200)
    }

    fn signal(&self, signal: Signal) {
        signal_pid(self.scheduler.id(), signal);
        self.hold.signal(signal);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.scheduler.kill().ok();
        self.scheduler.wait().ok();
    }
}

/// The jobs in the order in which they ran, each with who ran it; `None` while the store is locked.
fn runs(stage: &Stage) -> Option<Vec<(usize, String)>> {
    let ask = "import sqlite3, sys\n\
               for job, by in sqlite3.connect(sys.argv[1], timeout=2).execute(\n\
               'SELECT job, name FROM runs ORDER BY rowid'):\n\
               \x20   print(job, by)";
    let mut python = Command::new("python3");
    let done = python.args(["-c", ask]).arg(stage.path("jobs.db")).output().unwrap();
    if !done.status.success() {
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(error.contains("locked") || error.contains("no such table"), "{error}");
        return None;
    }
    let text = String::from_utf8(done.stdout).unwrap();
    let run = |line: &str| {
        let (job, by) = line.split_once(' ').unwrap();
        (job.parse().unwrap(), by.to_owned())
    };
    Some(text.lines().map(run).collect())
}

/// Whether another process keeps SQLite's lock for writing for longer than a write lasts.
fn is_locked(stage: &Stage) -> bool {
    let mut python = Command::new("python3");
    let lock = python.args(["-c", LOCK]).arg(stage.path("jobs.db")).args(["2", "0"]);
    let done = lock.output().unwrap();
    !done.status.success()
}

#[test]
fn no_job_runs_twice_and_none_is_lost_while_machines_are_paused() {
    let stage = Stage::new(GROUP);
    let machines = ["a", "b"].map(|name| Machine::start(&stage, name));
    for round in 0..ROUNDS {
        let leader = eventually("a leader that works", SOON, || {
            let at = machines.iter().position(Machine::leads)?;
            let last = runs(&stage)?.pop()?;
            (last.1 == ["a", "b"][at]).then_some(at)
        });
        machines[leader].signal(Signal::STOP);
        let other = ["a", "b"][1 - leader];
        // Where the leader stopped in the middle of a write, its successor waits for it. Where it
        // stopped in the middle of a commit, a reader does not get in either.
        eventually("the successor's work, or a lock that the leader keeps", SOON, || {
            let runs = runs(&stage).unwrap_or_default();
            let works = runs.len() > round && runs.last().is_some_and(|last| last.1 == other);
            (works || is_locked(&stage)).then_some(())
        });
        // The zombie wakes where it stood, perhaps in the middle of a job.
        machines[leader].signal(Signal::CONT);
    }
    each_job_ran_once(&stage);
}

#[test]
fn a_store_that_is_locked_for_long_delays_jobs_and_ends_no_scheduler() {
    let stage = Stage::new(GROUP);
    let mut machines = ["a", "b"].map(|name| {
        // The first meets the lock when it makes its tables, the other between jobs or within one.
        let mut python = Command::new("python3");
        // For longer than a scheduler waits for it: a second.
        let lock = python.args(["-c", LOCK]).arg(stage.path("jobs.db")).args(["60", "2"]);
        let mut lock = lock.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(lock.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "locked\n");
        let machine = Machine::start(&stage, name);
        assert!(lock.wait().unwrap().success());
        machine
    });
    each_job_ran_once(&stage);
    for machine in &mut machines {
        assert_eq!(machine.scheduler.try_wait().unwrap(), None, "a scheduler that goes on");
    }
}

/// Waits for more jobs; then all of them ran once, in their order.
fn each_job_ran_once(stage: &Stage) {
    let before = eventually("the jobs so far", SOON, || runs(stage)).len();
    let jobs = eventually("more work", SOON, || {
        let jobs = runs(stage)?;
        (jobs.len() > before + 3).then_some(jobs)
    });
    assert!(jobs.iter().map(|(job, _)| *job).eq(1..=jobs.len()), "{jobs:?}");
}
