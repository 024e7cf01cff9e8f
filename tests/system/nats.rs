//! What is refused before a run when NATS is not where the topology says.

use support::experiment::{output, tandem};
use support::nats::{Nats, mixed};

#[test]
fn a_cluster_that_is_not_nats_is_refused() {
    let nats = Nats::up();
    let state = tempfile::tempdir().unwrap();
    let doctor = |address: &str| {
        let mut command = tandem(state.path());
        let done = output(command.args(["doctor"]).args(mixed(address).split_whitespace()));
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let of_cluster: Vec<_> = said.lines().filter(|line| line.contains("cluster n")).collect();
        (of_cluster.join("\n").replace(address, "ADDRESS"), done.status.code())
    };
    let (fine, _) = doctor(&nats.address);
    assert_eq!(fine, "ok    cluster n is NATS at ADDRESS, which answers");
    let (gone, code) = doctor("127.0.0.1:1");
    let refused = "fail  cluster n: cannot use NATS at ADDRESS: Connection refused";
    assert!(gone.starts_with(refused), "{gone}");
    assert_ne!(code, Some(0));
}
