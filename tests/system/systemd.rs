//! The units of `deploy/systemd` under a real systemd, and what a service manager hears.

use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;

/// Runs a script of `tests/data/systemd` under a systemd that has the units; it says what failed.
fn plays(script: &str) {
    let done = Command::new("deploy/systemd/try")
        .args([support::program(), &format!("tests/data/systemd/{script}")])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{script} (it needs root): {out}{err}");
    assert!(out.contains("== "), "{script} has no steps: {out}{err}");
}

#[test]
fn a_restart_of_the_unit_spares_members_and_a_stop_ends_them() {
    plays("up.sh");
}

#[test]
fn units_hold_a_role_are_observed_and_leave_nothing() {
    plays("hold.sh");
}

#[test]
fn up_says_once_that_it_is_ready_and_then_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let variables = [("NOTIFY_SOCKET", path.to_str().unwrap())];
    let mut up = Up::start_with("-f topologies/solo.yaml", &variables);
    let mut bytes = [0; 64];
    let length = manager.recv(&mut bytes).unwrap();
    assert_eq!(&bytes[..length], b"READY=1");
    assert!(up.status().1.is_some(), "{}", up.said());
    up.await_health(Level::Led);
    up.signal(Signal::TERM);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
    // Neither again, nor by a process that it has started.
    manager.set_nonblocking(true).unwrap();
    assert!(manager.recv(&mut bytes).is_err());
}
