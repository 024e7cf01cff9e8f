//! What is refused before a run when ZooKeeper is not as the topology says.

use std::path::Path;

use support::experiment::{output, tandem};
use support::zookeeper::ZooKeeper;

/// What a doctor says of the servers, and its exit code.
fn doctor(state: &Path, zookeeper: &ZooKeeper, set: &str) -> (String, Option<i32>) {
    let mut command = tandem(state);
    command.args(["doctor"]).args(zookeeper.mixed().split_whitespace());
    let done = output(command.args(set.split_whitespace()));
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let of_cluster = said.lines().filter(|line| line.contains("cluster z"));
    (of_cluster.collect::<Vec<_>>().join("\n"), done.status.code())
}

/// Servers that tick slowly grant long sessions: a client that is held up opens one all the same.
#[test]
fn a_session_that_the_servers_change_is_refused_with_what_would_allow_it() {
    let zookeeper = ZooKeeper::ticking("6000");
    let state = tempfile::tempdir().unwrap();
    let said = |tick: &str, session: &str, more: &str| {
        let set = format!("--set clusters.z.tick={tick} --set groups.p2.session={session} {more}");
        let (said, code) = doctor(state.path(), &zookeeper, &set);
        (said.replace(&zookeeper.addresses, "ADDRESS"), code)
    };
    let fine = "ok    cluster z is ZooKeeper at ADDRESS, which grants sessions of 1m";
    assert_eq!(said("6s", "1m", "").0, fine);
    let refused = |text: &str| format!("fail  cluster z: {text}");
    let (long, code) = said("6s", "5m", "");
    let wants = "ZooKeeper at ADDRESS grants a session of 2m in place of 5m: write `session: 2m`, \
                 or maxSessionTimeout=300000 in its zoo.cfg";
    assert_eq!(long, refused(wants));
    assert_ne!(code, Some(0));
    let (short, _) = said("6s", "9s", "");
    let wants = "ZooKeeper at ADDRESS grants a session of 12s in place of 9s: write `session: \
                 12s`, or minSessionTimeout=9000 in its zoo.cfg";
    assert_eq!(short, refused(wants));
    let (tick, _) = said("3s", "1m", "");
    let wants = "the server ADDRESS has tickTime=6000, and the topology 3s: write `tick: 6s`";
    assert_eq!(tick, format!("{fine}\n{}", refused(wants)));
    let (gone, _) = said("6s", "1m", "--set clusters.z.zookeeper=127.0.0.1:1");
    let wants = "cannot open a session of ZooKeeper at 127.0.0.1:1: no available hosts";
    assert_eq!(gone, refused(wants));
}

/// A run is refused for the same, before it starts anything.
#[test]
fn a_run_is_refused_where_a_server_of_several_is_called_the_only_one() {
    let zookeeper = ZooKeeper::three();
    let one = zookeeper.addresses.split(',').next().unwrap();
    let state = tempfile::tempdir().unwrap();
    let mut command = tandem(state.path());
    command.args(["chaos", "run", "chaos/calm.yaml", "-f", "topologies/mixed-zookeeper.yaml"]);
    let done = output(command.args(["--set", &format!("clusters.z.zookeeper={one}")]));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success(), "{said}");
    assert!(said.contains("syncLimit=5, and the topology 0: write `sync_limit: 5`"), "{said}");
}
