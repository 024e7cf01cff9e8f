//! Members of the user alone, on a broker that `tandem up` keeps: found without an address, and
//! nothing is claimed of what nobody observes.

use std::process::Stdio;

use rustix::process::Signal;
use support::experiment::{eventually, output, signal_pid, tandem};
use support::held::SOON;
use support::up::Up;
use tandem::live_view::Level;

const HELD: &str = "-f topologies/held.yaml";

#[test]
fn programs_of_the_user_find_the_broker_of_a_running_up_which_claims_nothing_of_them() {
    let up = Up::start(HELD);
    let address = eventually("the broker", SOON, || {
        let picture = up.status().1?;
        assert_eq!(picture.health, Level::Starting, "nobody is observed");
        assert!(picture.groups.is_empty(), "{picture:?}");
        picture.brokers.values().next().map(|broker| broker.address.clone())
    });
    assert_eq!(up.status().0, Some(4), "unknown is no pass");
    let said = up.folder().join("said");
    let script = format!("echo $TANDEM_ROLE >> {}; sleep 60", said.display());
    let mut child = tandem(up.state())
        .args(["hold", "-f", "topologies/held.yaml", "--group", "p1", "--name", "a"])
        .args(["--role", "nightly", "--", "sh", "-c", &script])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let led = || std::fs::read_to_string(&said).ok().filter(|text| text == "nightly\n");
    eventually(&format!("the command, on {address}"), SOON, led);
    let text = output(tandem(up.state()).args(["status"]).args(HELD.split(' ')));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("role nightly: starting for "), "{text}");
    assert!(text.contains("no group has members of its own"), "{text}");
    signal_pid(child.id(), Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_experiment_measures_no_group_without_members() {
    let state = tempfile::tempdir().unwrap();
    let args = ["chaos", "run", "chaos/kill-leader.yaml", "-f", "topologies/held.yaml"];
    let done = output(tandem(state.path()).args(args));
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(
        told.contains("group `p1` has no members of its own, so nothing is measured"),
        "{told}"
    );
    assert!(told.contains("--set groups.p1.members=3"), "{told}");
}
