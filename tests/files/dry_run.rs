//! `tandem chaos run --dry-run`: what it says, and that it starts nothing.

use std::fs;

use support::experiment::{output, tandem};

fn said(args: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = tandem(folder.path());
    command.args(["chaos", "run", "--dry-run", "--out"]).arg(&out).args(args);
    let done = output(&mut command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // No journal, no ledger of a guard, no record of a topic.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{}", text(&done.stdout));
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

fn page(args: &[&str]) -> String {
    let (code, stdout, stderr) = said(&[args, &["--seed", "42"]].concat());
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    stdout
}

#[test]
fn every_experiment_that_we_ship_can_be_told() {
    let mut told = Vec::new();
    let mut files: Vec<_> = fs::read_dir("chaos").unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    for file in files {
        told.push(page(&[file.to_str().unwrap()]));
    }
    insta::assert_snapshot!("dry_run", told.join("\n---- \n\n"));
}

#[test]
fn what_is_drawn_is_what_the_run_draws() {
    let args = ["chaos/kill-leader.yaml", "--trials", "2"];
    assert_eq!(page(&args), page(&args));
    let (_, other, _) = said(&[&args[..], &["--seed", "43"]].concat());
    assert_ne!(page(&args), other);
}

#[test]
fn programs_are_told_the_same() {
    let json = page(&["chaos/lose-a-cluster.yaml", "-o", "json"]);
    let told: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&told["seed"], &told["trials"]), (&42.into(), &3.into()));
    assert_eq!(told["steps"][0]["fault"], "broker");
    let delay = told["schedule"][0]["strikes"][0]["delay_ms"].as_u64().unwrap();
    assert!((500..800).contains(&delay), "{json}");
    assert_eq!(told["joint"]["gap"], "0s");
}

#[test]
fn files_that_are_wrong_are_refused_as_ever() {
    let (code, stdout, stderr) = said(&["tests/data/files/experiment-no-target.yaml"]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("experiment-no-target.yaml"), "{stderr}");
}
