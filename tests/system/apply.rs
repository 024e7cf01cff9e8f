//! `tandem apply`: what is up changes in place, and what cannot change in place is refused. That
//! nothing of it leaves a gap, on a quiet host: `tests/measured/apply.rs`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use support::applied::{
    Changing, SOON, all_live, apply, grown, members, parts, processes, stands, written,
};
use support::experiment::{eventually, output, tandem};
use support::up::{Up, nothing_is_left};
use tandem::live_view::{Level, Picture};
use tandem::observation::{RunEvent, What};
use tandem::verdict::Report;

/// No member that a busy host leaves out for a moment is expelled from its group.
fn topology() -> Changing {
    grown("defaults: {session: 10s, heartbeat: 100ms, threshold: 30s}\n")
}

/// Roles come and go, members do, and another `up` takes over.
#[test]
fn roles_and_members_come_and_go() {
    let topology = topology();
    let (_folder, file) = written(&topology.text);
    let mut up = Up::start(&format!("-f {}", file.display()));
    up.await_health(Level::Led);
    is_refused_with_its_place(&up, &file);
    let before = processes(&up);
    let change = |roles: usize, count: usize| {
        let (text, picture) = topology.change((&up, &file), (roles, count), &[]);
        assert!(picture.roles.iter().all(|role| role.leaders.len() == 2), "{picture:?}");
        text
    };
    let text = change(300, 4);
    assert!(text.contains("  roles: 3 -> 300 (297 added, 0 removed)\n"), "{text}");
    assert!(text.contains("group p1: p1-3, p1-4 join\n"), "{text}");
    assert!(text.contains("group p2: p2-3 to p2-4 joined\n"), "{text}");
    let text = change(3, 2);
    let order = ["group p1: p1-4 has left", "group p1: p1-3 has left", "group p2: p2-4 has left"];
    let at = order.map(|line| text.find(line).unwrap_or_else(|| panic!("{line}: {text}")));
    assert!(at.is_sorted(), "{text}");
    assert_eq!(processes(&up), before, "members that stay are not started again");
    // Names come again: their lives go on to count.
    change(3, 3);
    let (code, text) = apply(&up, &file, &[]);
    assert_eq!((code, text.contains("grown is up as the file says")), (Some(0), true), "{text}");
    // Another `up` with the latest file takes its place.
    let mut next = Up::start_in(&format!("-f {} --replace", file.display()), up.state());
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    assert_eq!(stands(&next, "it is watched again", |_| true).roles.len(), 3);
    next.signal(Signal::INT);
    assert_eq!(next.ends().code(), Some(0), "{}", next.said());
    nothing_is_left(up.state());
    each_file_has_its_plan(&up);
}

/// Each file has the plan that was in effect, and is judged by itself.
fn each_file_has_its_plan(up: &Up) {
    let parts = parts(up);
    let plans: Vec<(u32, usize)> = parts
        .iter()
        .map(|part| {
            let plan = &part.header.plan;
            (plan.roles.len(), plan.groups.values().next().unwrap().members.len())
        })
        .collect();
    assert_eq!(plans, [(3, 2), (300, 4), (3, 2), (3, 3)]);
    for (part, number) in parts.iter().zip(1..) {
        let changed = part.header.part.unwrap().changed;
        assert_eq!(changed, number > 1, "{number}");
        let ends = part
            .facts
            .iter()
            .filter(|it| matches!(it.what, What::Run(RunEvent::TrialEnded { .. })));
        assert_eq!(ends.count(), 1, "file {number} is one trial");
        let file = up.out.join(format!("journal-{number:06}.jsonl"));
        let said = output(tandem(up.state()).arg("report").arg(&file).args(["-o", "json"]));
        let report: Report = serde_json::from_slice(&said.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&said.stderr)));
        assert_eq!(report.trials, 1, "{number}");
    }
}

/// What cannot change in place is refused with its place in the file, before anything changes.
fn is_refused_with_its_place(up: &Up, file: &Path) {
    let before = (processes(up), parts(up).len());
    let refused = |from: &str, to: &str, place: &str, why: &str| {
        let text = topology().with(300, 4).replace(from, to);
        fs::write(file, &text).unwrap();
        for args in [&[][..], &["--dry-run"]] {
            let (code, said) = apply(up, file, args);
            assert_eq!(code, Some(2), "{to}: {said}");
            assert!(said.contains(&format!("topology.yaml:{place}")), "{to}: {said}");
            assert!(said.contains(why), "{to}: {said}");
        }
    };
    let width = "p1 would have 16 partitions, and its topic has 12: their number never changes";
    refused(
        "p1: {cluster: a, members: 4, partitions: 12",
        "p1: {cluster: a, members: 4",
        "8:3",
        width,
    );
    refused("partitions: 12}\n  p2", "partitions: 6}\n  p2", "8:44", "p1 would have 6 partitions");
    refused("name: grown", "name: other", "2:7", "grown is up, and other is another topology");
    refused("b: embedded", "b: {bootstrap: \"127.0.0.1:1\"}", "6:3", "cluster b is up, and stays");
    // The durations of the defaults do not fit that mode.
    let mode = "p2: {mode: exclusive, threshold: 8s, cluster: b";
    refused("p2: {cluster: b", mode, "9:14", "its `mode` stays as it is");
    refused("p1: {cluster: a", "p3: {cluster: a", "8:3", "group p3 is not up");
    fs::write(file, topology().with(300, 4)).unwrap();
    let (code, said) = apply(up, file, &["--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("grown would change:\n"), "{said}");
    assert!(said.contains("roles: 3 -> 300") && said.contains("p2-3, p2-4 join"), "{said}");
    assert_eq!((processes(up), parts(up).len()), before, "nothing has changed");
    assert_eq!(stands(up, "3 roles", |_| true).roles.len(), 3);
}

/// The client of a change is killed, and settings change: of one group, whose members start again.
#[test]
fn a_change_whose_client_is_killed_is_completed_and_settings_change_one_by_one() {
    let topology = topology();
    let (_folder, file) = written(&topology.text);
    let mut up = Up::start(&format!("-f {}", file.display()));
    up.await_health(Level::Led);
    fs::write(&file, topology.with(24, 3)).unwrap();
    let mut killed =
        tandem(up.state()).args(["apply", "-f"]).arg(&file).stdout(Stdio::null()).spawn().unwrap();
    eventually("the new plan", SOON, || (parts(&up).len() == 2).then_some(()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let (_, said) = eventually("the change to be over", SOON, || {
        let (code, said) = apply(&up, &file, &[]);
        assert!(code == Some(0) || said.contains("is still being carried out"), "{said}");
        (code == Some(0)).then_some((code, said))
    });
    assert!(said.contains("is up as the file says"), "{said}");
    let three = |picture: &Picture| {
        members(picture) == [3, 3] && all_live(picture) && picture.roles.len() == 24
    };
    stands(&up, "three members", three);
    let before = processes(&up);
    let set = ["--set", "groups.p1.threshold=31s"];
    let (code, said) = apply(&up, &file, &set);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("has left and started again").count(), 3, "{said}");
    stands(&up, "three members", three);
    let now = processes(&up);
    let same: Vec<_> = before.iter().map(|pid| now.contains(pid)).collect();
    assert_eq!(same, [false, false, false, true, true, true], "those of p1 are new");
    let (code, said) = apply(&up, &file, &set);
    assert!(code == Some(0) && !said.contains("started again"), "{said}");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

/// A member that cannot start again is waited for as long as it may take to leave: a threshold and
/// some seconds.
#[test]
fn a_change_that_fails_goes_on_when_it_is_ordered_again() {
    let short = topology().text.replace("defaults: ", "#");
    let (_folder, file) = written(&short);
    let mut up = Up::start(&format!("-f {}", file.display()));
    up.await_health(Level::Led);
    let before = processes(&up);
    // Neither logs nor the journal can be written, so a member cannot start.
    let away = up.out.with_file_name("away");
    fs::rename(&up.out, &away).unwrap();
    fs::write(&file, short.replace("count: 3", "count: 30")).unwrap();
    let set = ["--set", "groups.p1.threshold=2500ms"];
    let (code, said) = apply(&up, &file, &set);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("group p1: p1-1 does not start again"), "{said}");
    assert!(said.contains("the same `tandem apply` goes on"), "{said}");
    stands(&up, "the roles are there", |picture| picture.roles.len() == 30);
    fs::rename(&away, &up.out).unwrap();
    let (code, said) = apply(&up, &file, &set);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("group p1: p1-2 has left and started again"), "{said}");
    stands(&up, "all members", |picture| all_live(picture) && picture.journal.written);
    let now = processes(&up);
    let same: Vec<_> = before.iter().map(|pid| now.contains(pid)).collect();
    assert_eq!(same, [false, false, true, true], "those of p1 are new");
    let last = parts(&up).pop().unwrap().header;
    assert_eq!((last.plan.roles.len(), last.part.unwrap().changed), (30, true));
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}
