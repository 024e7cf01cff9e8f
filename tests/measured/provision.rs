//! How long it takes to end what waits for a cluster that does not answer, and to find that one
//! refuses connections.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, eventually, output, tandem};
use support::leftovers::GONE;
use support::measured::shared_turn;
use support::stalls::Watch;
use tandem::time::Mono;

/// A topology on the cluster at this address.
fn topology(folder: &Path, address: &str) -> PathBuf {
    let text = format!(
        "version: 1\nname: ground\nroles: [a]\nclusters: {{k: {{bootstrap: \"{address}\"}}}}\n\
         groups: {{p1: {{cluster: k, members: 1}}}}\n"
    );
    let file = folder.join("ground.yaml");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn an_interrupt_ends_a_run_at_once_while_a_cluster_does_not_answer() {
    let _turn = shared_turn();
    let folder = tempfile::tempdir().unwrap();
    // The kernel accepts the connection, and no process reads.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = topology(folder.path(), &silent.local_addr().unwrap().to_string());
    let run = Experiment::calm("1s").with(&format!("-f {}", file.display())).start();
    eventually("a client", Duration::from_secs(60), || silent.accept().ok());
    let (watch, asked) = (Watch::begin(), Mono::now());
    watch.add(run.pid());
    run.signal(Signal::INT);
    let run = run.finish();
    let took = Mono::now().since(asked);
    let stalled = watch.total(asked, Mono::now());
    assert!(took < GONE + stalled, "it took {took:?}, stalled for {stalled:?}: {run}");
}

#[test]
fn a_refused_connection_is_reported_at_once() {
    let _turn = shared_turn();
    let folder = tempfile::tempdir().unwrap();
    // No process listens there: the kernel gives this port to none that asks for any.
    let file = topology(folder.path(), "127.0.0.1:1");
    let began = Mono::now();
    let said = output(tandem(folder.path()).arg("doctor").arg("-f").arg(&file));
    let took = Mono::now().since(began);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(text.contains("Connection refused"), "{text}");
    // Where no answer comes at all, ten seconds are waited.
    assert!(took < Duration::from_secs(9), "{took:?}: {text}");
}
