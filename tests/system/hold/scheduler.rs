//! The scheduler in Python: no job runs twice, and none is lost, while its machine is paused.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::{Hold, SOON, Stage};
use support::web::get;

/// Pauses of the leader.
const ROUNDS: usize = 3;

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

/// The jobs in the order in which they ran, each with who ran it.
fn runs(stage: &Stage) -> Vec<(usize, String)> {
    let ask = "import sqlite3, sys\n\
               for job, by in sqlite3.connect(sys.argv[1], timeout=10).execute(\n\
               'SELECT job, name FROM runs ORDER BY rowid'):\n\
               \x20   print(job, by)";
    let mut python = Command::new("python3");
    let done = python.args(["-c", ask]).arg(stage.path("jobs.db")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    let run = |line: &str| {
        let (job, by) = line.split_once(' ').unwrap();
        (job.parse().unwrap(), by.to_owned())
    };
    text.lines().map(run).collect()
}

#[test]
fn no_job_runs_twice_and_none_is_lost_while_machines_are_paused() {
    let stage = Stage::new("mode: exclusive, hold: 400ms");
    let machines = ["a", "b"].map(|name| Machine::start(&stage, name));
    for round in 0..ROUNDS {
        let leader = eventually("a leader that works", SOON, || {
            let at = machines.iter().position(Machine::leads)?;
            let last = runs(&stage).pop()?;
            (last.1 == ["a", "b"][at]).then_some(at)
        });
        machines[leader].signal(Signal::STOP);
        let other = ["a", "b"][1 - leader];
        eventually("the successor's work", SOON, || {
            let last = runs(&stage);
            (last.len() > round && last.last()?.1 == other).then_some(())
        });
        // The zombie wakes where it stood, perhaps in the middle of a job.
        machines[leader].signal(Signal::CONT);
    }
    let before = runs(&stage).len();
    eventually("more work", SOON, || (runs(&stage).len() > before + 3).then_some(()));
    let jobs: Vec<usize> = runs(&stage).into_iter().map(|(job, _)| job).collect();
    assert!(jobs.iter().copied().eq(1..=jobs.len()), "{jobs:?}");
}
