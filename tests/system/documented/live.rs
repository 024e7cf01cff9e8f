//! What the real program writes and prints: two short runs in a suite, and a topology that is kept
//! up, one member of which dies. They are made once, for all tests here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::Signal;
use tandem::live_view::Level;

use support::experiment::{eventually, output, signal_pid, tandem};
use support::outside::lone_leader;
use support::up::Up;

/// The files, in a folder that the next run of these tests removes.
pub(crate) struct Live {
    /// The folder of the suite.
    pub suite: PathBuf,
    /// The folder of each of its runs.
    pub runs: Vec<PathBuf>,
    /// The folder of what was kept up.
    pub up: PathBuf,
    /// What was printed, by the name of its schema.
    pub printed: Printed,
}

/// What was printed, by the name of its schema.
type Printed = Vec<(&'static str, PathBuf)>;

/// No host makes a session expire, and a death is known at once: little has to settle.
const STEADY: &str = "--set defaults.session=30s --set defaults.heartbeat=100ms \
                      --set defaults.on_death=leave --set defaults.restart.after=1s";

static LIVE: OnceLock<Live> = OnceLock::new();

pub(crate) fn live() -> &'static Live {
    LIVE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documented");
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(folder.join("experiments")).unwrap();
        let ((runs, mut printed), (up, of_up)) = std::thread::scope(|scope| {
            let suite = scope.spawn(|| suite(&folder));
            let up = kept_up(&folder);
            (suite.join().unwrap(), up)
        });
        printed.extend(of_up);
        Live { suite: folder.join("suite"), runs, up, printed }
    })
}

/// Keeps the output of a command, with any exit code.
fn keep(
    folder: &Path,
    schema: &'static str,
    name: &str,
    command: &mut Command,
) -> (&'static str, PathBuf) {
    let said = output(command);
    let path = folder.join(name);
    assert!(!said.stdout.is_empty(), "{command:?}: {}", String::from_utf8_lossy(&said.stderr));
    fs::write(&path, said.stdout).unwrap();
    (schema, path)
}

/// The folder of each run, and what was printed.
fn suite(folder: &Path) -> (Vec<PathBuf>, Printed) {
    let (state, mut printed) = (folder.join("state"), Vec::new());
    for name in ["kill-leader", "pause-leader"] {
        let text = fs::read_to_string(format!("chaos/{name}.yaml")).unwrap();
        let text = text.replace("for: 3s", "for: 1s") + "steady_state: {settled: 300ms}\n";
        fs::write(folder.join("experiments").join(format!("{name}.yaml")), text).unwrap();
    }
    let mut command = tandem(&state);
    command.args(["chaos", "suite"]).arg(folder.join("experiments"));
    command.args(["-f", "topologies/duo.yaml", "--trials", "1", "--seed", "1", "-o", "json"]);
    command.args(STEADY.split_whitespace()).arg("--out").arg(folder.join("suite"));
    printed.push(keep(folder, "suite-summary", "suite.out", &mut command));
    let runs = ["01-kill-leader-duo", "02-pause-leader-duo"];
    let runs = runs.map(|run| folder.join("suite").join(run));
    for (run, name) in runs.iter().zip(["kill.out", "pause.out"]) {
        let mut command = tandem(&state);
        command.arg("report").arg(run).args(["-o", "json"]);
        printed.push(keep(folder, "result", name, &mut command));
    }
    let mut command = tandem(&state);
    command.arg("compare").args(&runs).args(["-o", "json"]);
    printed.push(keep(folder, "comparison", "compare.out", &mut command));
    (runs.into(), printed)
}

/// The folder of what was kept up, and what was printed.
fn kept_up(folder: &Path) -> (PathBuf, Printed) {
    let mut printed = Vec::new();
    let mut up = Up::start(&format!("-f topologies/duo.yaml {STEADY} -o json"));
    let (_, victim) = lone_leader(&up, &"p1".parse().unwrap());
    signal_pid(victim, Signal::KILL);
    eventually("the member's next life, and all led", Duration::from_secs(60), || {
        let picture = up.status().1?;
        let lives = picture.groups.values().flat_map(|group| group.members.values());
        let again = lives.filter(|seat| seat.incarnation.0 == 2 && seat.pid.is_some()).count() == 1;
        (again && picture.health == Level::Led).then_some(())
    });
    let state = up.state().to_owned();
    let mut ask = |schema, name, args: &[&str]| {
        printed.push(keep(folder, schema, name, tandem(&state).args(args)));
    };
    ask("status", "status.out", &["status", "-o", "json"]);
    ask("event", "events.out", &["events", "-o", "json"]);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let out = up.out.to_str().unwrap();
    printed.push(keep(
        folder,
        "result",
        "up.out",
        tandem(&state).args(["report", out, "-o", "json"]),
    ));
    fs::copy(up.folder().join("stdout"), folder.join("up-events.out")).unwrap();
    printed.push(("event", folder.join("up-events.out")));
    let kept = folder.join("up");
    fs::create_dir_all(&kept).unwrap();
    for name in ["journal-000001.jsonl", "result.json"] {
        fs::copy(up.out.join(name), kept.join(name)).unwrap();
    }
    (kept, printed)
}
