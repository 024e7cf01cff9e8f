//! A command that the kernel does not end, and brokers that are gone: both are said, and in time.

use std::fs::File;

use rustix::process::Signal;
use support::blocking_disk::BlockingDisk;
use support::experiment::{eventually, tandem};
use support::held::{SOON, remove_cgroups};
use support::leftovers::{Seen, see};
use support::measured::shared_turn;
use support::up::Up;
use tandem::live_view::Level;

#[test]
fn a_command_that_is_late_beside_an_up_that_ended_is_said_with_what_caused_it() {
    let _turn = shared_turn();
    let disk = BlockingDisk::new();
    let mut up = Up::start("-f topologies/held.yaml");
    eventually("the broker", SOON, || up.status().1?.brokers.pop_first());
    let log = up.folder().join("log");
    let (pid, blocked) = (up.folder().join("pid"), up.folder().join("blocked"));
    let (pid_shown, blocked_shown, file) = (pid.display(), blocked.display(), disk.folder("file"));
    let script = format!(
        "echo $$ > {pid_shown}; while ! [ -e {blocked_shown} ]; do sleep 0.01; done; echo x > {}",
        file.display()
    );
    let mut child = tandem(up.state())
        .args(["hold", "-f", "topologies/held.yaml", "--group", "p1", "--name", "a"])
        .args(["--role", "nightly", "--", "sh", "-c", &script])
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    up.await_health(Level::Led);
    disk.block();
    File::create(&blocked).unwrap();
    eventually("a command that waits for the disk", SOON, || {
        let pid = std::fs::read_to_string(&pid).ok()?.trim().parse().ok()?;
        see(pid).filter(Seen::waits_for_a_disk).map(drop)
    });
    up.signal(Signal::TERM);
    up.ends();
    let ended = eventually("its end", SOON, || child.try_wait().unwrap());
    disk.go_on();
    let log = std::fs::read_to_string(log).unwrap();
    remove_cgroups(&log);
    assert_eq!(ended.code(), Some(1), "{log}");
    for why in [
        "the command does not end, not even by SIGKILL",
        "the `tandem up` that kept held up has ended, and cluster a with it",
    ] {
        assert!(log.contains(why), "{why}: {log}");
    }
}
