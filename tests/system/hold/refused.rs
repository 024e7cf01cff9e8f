//! What `tandem hold` refuses, before it joins anything.

use support::held::Stage;

/// The exit code and the message.
fn refused(stage: &Stage, name: &str, more: &[&str], command: &[&str]) -> (Option<i32>, String) {
    let status = stage.command(name, more, command).status().unwrap();
    (status.code(), stage.said(&format!("{name}.err")))
}

#[test]
fn mistakes_are_named_with_what_was_meant() {
    let stage = Stage::new("mode: exclusive, session: 3s");
    let sleep = ["sleep", "60"];
    let hold = ["--role", "r", "--set", "groups.p1.hold=1s"];
    for (more, command, message) in [
        (&["--role", "x"][..], &sleep[..], "--role: held has no role `x`; it has 2 roles, as `r`"),
        (&["--role", "r"], &sleep, "group p1 has a hold of 0s, too short to end a command before"),
        (&[&hold[..], &["--grace", "1s"]].concat(), &sleep, "or a shorter --grace"),
        (&hold, &["no-such-command"], "there is no command no-such-command"),
        (&hold, &["./t"], "there is no command ./t"),
    ] {
        let (code, output) = refused(&stage, "a", more, command);
        assert!(code == Some(2) && output.contains(message), "{message}: {code:?} {output}");
    }
    let other = ["--group", "p2", "--role", "r"];
    let mut command = std::process::Command::new(support::program());
    command.args(["hold", "-f", "t.yaml", "--name", "a"]).args(other).args(["--", "true"]);
    let done = command.current_dir(stage.path("")).output().unwrap();
    let output = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(output.contains("--group: there is no group `p2`: did you mean `p1`?"), "{output}");
}

#[test]
fn a_name_is_borne_by_one_process_at_a_time() {
    let stage = Stage::new("session: 2s");
    let _first = stage.hold_alone("a", "while :; do sleep 0.02; done");
    stage.runs("a", None);
    let mut command = stage.command_as("second", "a", &["--role", "r"], &["true"]);
    let code = command.status().unwrap().code();
    let output = stage.said("second.err");
    assert!(output.contains("another `tandem hold` runs as a in group p1"), "{code:?} {output}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_ledger_of_another_width_is_refused() {
    let stage = Stage::new("session: 2s");
    stage.broker.create("held-p1", 3);
    let (code, output) = refused(&stage, "a", &["--role", "r"], &["true"]);
    assert_eq!(code, Some(1));
    assert!(
        output.contains("topic held-p1 of group p1 has 3 partitions and 1 are planned"),
        "{output}"
    );
}

#[test]
fn an_embedded_cluster_needs_a_tandem_up() {
    let stage = Stage::new("session: 2s");
    let embedded = ["--role", "r", "--set", "clusters.a=embedded"];
    let (code, output) = refused(&stage, "a", &embedded, &["true"]);
    assert_eq!(code, Some(1));
    assert!(output.contains("no `tandem up` of yours keeps held up on this machine"), "{output}");
}

/// Two topologies that name one consumer group and one topic.
#[test]
fn a_member_of_another_topology_on_the_same_topic_is_refused() {
    let stage = Stage::new("session: 2s");
    let _first = stage.hold_alone("a", "while :; do sleep 0.02; done");
    stage.runs("a", None);
    let other = ["name=other", "groups.p1.consumer_group=held-p1", "groups.p1.topic=held-p1"];
    let other = other.into_iter().flat_map(|set| ["--set", set]).chain(["--role", "r"]);
    let (code, output) = refused(&stage, "b", &other.collect::<Vec<_>>(), &["true"]);
    let named = "this member is of group other/p1@held-p1, and another one on its topic of \
                 held/p1@held-p1";
    assert!(code == Some(1) && output.contains(named), "{code:?} {output}");
    stage.was_alone();
}
