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

/// A partition of members that elect among themselves, of those on Kafka, and of both.
#[test]
fn a_partition_says_between_whom_nothing_passes() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |target: &str, edges: &str| {
        let file = folder.path().join("cut.yaml");
        let step =
            format!("fault: partition, for: 3s, target: {{leader_of: any, group: {target}}}");
        let text = format!("version: 1\nname: cut\nmethod:\n  - {{id: c, at: 1s, {step}}}\n");
        fs::write(&file, text).unwrap();
        let edges = format!("edges={edges}");
        let topology = "topologies/mixed.yaml";
        let text = page(&[file.to_str().unwrap(), "-f", topology, "--set", &edges]);
        let line = |label: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(label));
            line.unwrap_or_else(|| panic!("{label} in {text}")).trim().to_owned()
        };
        (line("  does "), line("  undone "))
    };
    let brokers = "the traffic between members and brokers is lost, for 3s";
    let among = "all between its victims and the other members";
    let both = format!("{brokers}; in p2, so is {among}");
    for (target, edges, does, undo) in [
        ("p1", "proxied", brokers, "the edges let everything pass again"),
        (
            "p2",
            "direct",
            "all between its victims and the other members is lost, for 3s",
            "the members let everything pass again",
        ),
        ("any", "proxied", &both, "the edges and the members of p2 let everything pass again"),
    ] {
        assert_eq!(shown(target, edges), (does.to_owned(), undo.to_owned()), "{target}");
    }
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

#[test]
fn the_dry_run_lists_what_a_machine_takes_down() {
    let page = page(&["chaos/host-down.yaml", "-f", "topologies/machines.yaml"]);
    for line in [
        "  a broker: the only one of cluster a, on host alpha\n",
        "  to      everything on any host\n",
        "          among p1-1, p1-2, p1-3, p2-1, p2-2, p2-3\n",
        "  undone  a member that died is started again after 2s, brokers after 5s, at the same",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let strikes: Vec<&str> = page.lines().filter(|line| line.contains("the broker of")).collect();
    assert_eq!(strikes.len(), 3, "{page}");
    for strike in strikes {
        let whole = [("p1-1, p1-2, p1-3", "cluster a"), ("p2-1, p2-2, p2-3", "cluster b")];
        let is =
            |(members, cluster)| strike.ends_with(&format!("{members}, the broker of {cluster}"));
        assert!(whole.into_iter().any(is), "{strike}");
    }
}
