//! `tandem` as process 1 of a container: of several on one host, which share its name and a folder
//! for state, and with what its programs leave to it.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{Mode, mkfifoat};
use rustix::process::Signal;
use support::experiment::{eventually, output, signal_pid, tandem, tandem_at};
use support::up::Up;
use tandem::guard::children_of;
use tandem::live_view::{Level, Picture};

const SOON: Duration = Duration::from_secs(60);

/// `tandem` as process 1 of a PID namespace, which is the only child of this one.
fn contained(state: &Path) -> Command {
    let mut unshare = tandem_at("unshare".as_ref(), state);
    unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc", support::program()]);
    unshare
}

/// A command leaves a process behind, which ends soon after.
#[test]
fn process_1_collects_what_is_left_to_it_and_ends_as_its_command_does() {
    let state = tempfile::tempdir().unwrap();
    let mut command = contained(state.path());
    let script = "(setsid sh -c 'echo > left' &); read -r _ < go; exit 3";
    command.args(["gate", "--", "sh", "-c", script]).current_dir(state.path());
    mkfifoat(rustix::fs::CWD, state.path().join("go"), Mode::RUSR | Mode::WUSR).unwrap();
    // Opened for both: a shell that has died holds nothing up.
    let go = File::options().read(true).write(true).open(state.path().join("go"));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let appears = || state.path().join("left").exists().then_some(());
    eventually("what is left behind", SOON, appears);
    let [first] = children_of(child.id()).unwrap().try_into().unwrap();
    eventually("its end", SOON, || (children_of(first).ok()?.len() == 1).then_some(()));
    writeln!(go.as_ref().unwrap()).unwrap();
    let status = eventually("the end", SOON, || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(3));
}

/// Each is process 1 of its PID namespace.
#[test]
fn two_that_are_process_1_each_are_both_found() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let solo = fs::read_to_string("topologies/solo.yaml").unwrap();
    let topology = |name: &str| {
        let path = folder.path().join(format!("{name}.yaml"));
        fs::write(&path, solo.replace("\nname: solo\n", &format!("\nname: {name}\n"))).unwrap();
        path.display().to_string()
    };
    let contained =
        |file: &String| Up::start_from(contained(&state), &format!("-f {file}"), &state);
    let files = ["one", "two"].map(topology);
    let ups = files.each_ref().map(contained);
    for file in &files {
        eventually(&format!("a picture of {file}"), SOON, || {
            let said = output(tandem(&state).args(["status", "-o", "json", "-f", file]));
            let picture: Picture = serde_json::from_slice(&said.stdout).ok()?;
            (picture.health == Level::Led).then_some(())
        });
    }
    for mut up in ups {
        let [inside] = children_of(up.pid()).unwrap().try_into().unwrap();
        signal_pid(inside, Signal::TERM);
        assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    }
}
