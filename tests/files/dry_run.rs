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
fn every_shipped_experiment_has_a_dry_run() {
    let mut pages = Vec::new();
    let mut files: Vec<_> = fs::read_dir("chaos").unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    for file in files {
        pages.push(page(&[file.to_str().unwrap()]));
    }
    insta::assert_snapshot!("dry_run", pages.join("\n---- \n\n"));
}

#[test]
fn the_preview_draws_the_same_as_the_run() {
    let args = ["chaos/kill-leader.yaml", "--trials", "2"];
    assert_eq!(page(&args), page(&args));
    let (_, other, _) = said(&[&args[..], &["--seed", "43"]].concat());
    assert_ne!(page(&args), other);
}

#[test]
fn the_json_has_the_same_content() {
    let json = page(&["chaos/lose-a-cluster.yaml", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["seed"], &json["trials"]), (&42.into(), &3.into()));
    assert_eq!(json["steps"][0]["fault"], "broker");
    let delay = json["schedule"][0]["strikes"][0]["delay_ms"].as_u64().unwrap();
    assert!((500..800).contains(&delay), "{json}");
    assert_eq!(json["joint"]["gap"], "0s");
}

#[test]
fn invalid_files_are_refused_with_the_recorded_messages() {
    let (code, stdout, stderr) = said(&["tests/data/files/experiment-no-target.yaml"]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("experiment-no-target.yaml"), "{stderr}");
}
