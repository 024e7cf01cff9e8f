//! Members of the user alone, on a broker that `tandem up` keeps: found without an address, and
//! observed by way of their facts.

use std::process::Stdio;

use rustix::process::Signal;
use support::experiment::{eventually, output, signal_pid, tandem};
use support::held::SOON;
use support::up::Up;
use tandem::live_view::Level;

const FILE: &str = "-f topologies/held.yaml";
/// Claims and promises that outlast two seconds in which the host stops any process.
const HELD: &str = "-f topologies/held.yaml --set defaults.session=30s \
     --set defaults.heartbeat=300ms --set groups.p1.hold=3s";

#[test]
fn programs_of_the_user_find_the_broker_of_a_running_up_which_learns_what_they_lead() {
    let up = Up::start(HELD);
    let address = eventually("the broker", SOON, || {
        let picture = up.status().1?;
        assert_eq!(picture.health, Level::Starting, "no member has started");
        picture.brokers.values().next().map(|broker| broker.address.clone())
    });
    assert_eq!(up.status().0, Some(4), "unknown is no pass");
    let said = up.folder().join("said");
    let script = format!("echo $TANDEM_ROLE >> {}; sleep 60", said.display());
    let mut child = tandem(up.state())
        .arg("hold")
        .args(HELD.split_whitespace())
        .args(["--group", "p1", "--name", "a"])
        .args(["--role", "nightly", "--", "sh", "-c", &script])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let led = || std::fs::read_to_string(&said).ok().filter(|text| text.starts_with("nightly\n"));
    eventually(&format!("the command, on {address}"), SOON, led);
    let picture = up.await_health(Level::Led);
    let leaders: Vec<_> = picture.roles.iter().flat_map(|role| role.leaders.values()).collect();
    assert!(leaders.iter().all(|of| of.len() == 1 && of[0].as_str() == "p1-a"), "{leaders:?}");
    signal_pid(child.id(), Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    eventually("its leave, and that the role is down", SOON, || {
        let text = output(tandem(up.state()).args(["status"]).args(FILE.split(' ')));
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        let is_down = text.contains("role nightly: down for ");
        (is_down && text.contains("p1-a.1  left")).then_some(())
    });
}

#[test]
fn a_program_ends_with_the_up_that_keeps_its_broker() {
    let mut up = Up::start(HELD);
    eventually("the broker", SOON, || up.status().1?.brokers.pop_first());
    let log = up.folder().join("log");
    let mut child = tandem(up.state())
        .arg("hold")
        .args(HELD.split_whitespace())
        .args(["--group", "p1", "--name", "a"])
        .args(["--role", "nightly", "--", "sleep", "60"])
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    up.await_health(Level::Led);
    up.signal(Signal::TERM);
    up.ends();
    let ended = eventually("its end", SOON, || child.try_wait().unwrap());
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(ended.code(), Some(1), "{log}");
    let why = "the `tandem up` that kept held up has ended, and cluster a with it";
    assert!(log.contains(why), "{log}");
}

#[test]
fn an_experiment_measures_no_group_without_members() {
    let state = tempfile::tempdir().unwrap();
    let args = ["chaos", "run", "chaos/kill-leader.yaml", "-f", "topologies/held.yaml"];
    let done = output(tandem(state.path()).args(args));
    let output = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{output}");
    assert!(output.contains("group `p1` has no member that an experiment may hit"), "{output}");
    assert!(output.contains("--set groups.p1.launch=tandem"), "{output}");
}
