//! Groups over an etcd, a ZooKeeper and a NATS that want TLS and a client's certificate: they lead,
//! and who has no certificate, or trusts another authority, learns why it is not let in.

use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, eventually, output, tandem};
use support::secured_stores::{Client, SecuredStores};
use support::stores::await_led;
use tandem::ids::GroupName;

const SOON: Duration = Duration::from_secs(60);

/// What `tandem doctor` says of the topology at this path.
fn doctor(topology: &std::path::Path) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let done = output(tandem(folder.path()).arg("doctor").arg("-f").arg(topology));
    let all = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8_lossy(&all).into_owned())
}

#[test]
fn members_reach_their_stores_over_tls() {
    let stores = SecuredStores::up();
    let known = stores.topology("authority", Client::Known);
    // A store listens before it serves: ZooKeeper ends connections until then.
    eventually("stores that serve", SOON, || {
        let (code, said) = doctor(&known);
        println!("{said}");
        (code == Some(0)).then_some(())
    });
    let place = format!("-f {}", known.display());
    let run = Experiment::calm("600s").with(&place).start();
    await_led(&run, &["p1", "p2", "p3"]);
    run.signal(Signal::INT);
    let run = run.finish();
    let report = run.report();
    let exclusive = |name: &GroupName| report.groups[name].exclusive;
    for (name, line) in run.timeline().groups.iter().filter(|(name, _)| exclusive(name)) {
        assert!(line.findings.overlaps.is_empty(), "{name}: {run}");
    }
    let (code, said) = doctor(&stores.topology("authority", Client::Unnamed));
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = doctor(&stores.topology("stranger", Client::Known));
    assert_eq!(code, Some(1), "{said}");
    for (cluster, place) in [("e", "etcd"), ("z", "ZooKeeper")] {
        let said_of = |line: &&str| line.contains(&format!("cluster {cluster}:"));
        let line = said.lines().find(said_of).unwrap_or_else(|| panic!("{place}: {said}"));
        assert!(line.contains("invalid peer certificate: UnknownIssuer"), "{line}");
    }
}
