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

#[test]
fn a_session_that_the_servers_change_is_refused_with_what_would_allow_it() {
    let zookeeper = ZooKeeper::up();
    let state = tempfile::tempdir().unwrap();
    let said = |set: &str| {
        let (said, code) = doctor(state.path(), &zookeeper, set);
        (said.replace(&zookeeper.addresses, "ADDRESS"), code)
    };
    let fine = "ok    cluster z is ZooKeeper at ADDRESS, which grants sessions of 2s";
    assert_eq!(said("").0, fine);
    let refused = |text: &str| format!("fail  cluster z: {text}");
    let (long, code) = said("--set groups.p2.session=10s");
    let wants = "ZooKeeper at ADDRESS grants a session of 4s in place of 10s: write `session: 4s`, \
                 or maxSessionTimeout=10000 in its zoo.cfg";
    assert_eq!(long, refused(wants));
    assert_ne!(code, Some(0));
    let (short, _) = said("--set groups.p2.session=300ms");
    let wants = "ZooKeeper at ADDRESS grants a session of 400ms in place of 300ms: write `session: \
                 400ms`, or minSessionTimeout=300 in its zoo.cfg";
    assert_eq!(short, refused(wants));
    let (tick, _) = said("--set clusters.z.tick=100ms");
    let wants = "the server ADDRESS has tickTime=200, and the topology 100ms: write `tick: 200ms`";
    assert_eq!(tick, format!("{fine}\n{}", refused(wants)));
    let (gone, _) = said("--set clusters.z.zookeeper=127.0.0.1:1");
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
