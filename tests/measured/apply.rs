//! `tandem apply`: what is up changes without a gap.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use support::applied::{
    Part, SOON, apply, grown, is_disturbed, members, parts, processes, shown, stands, written,
};
use support::experiment::{eventually, output, tandem};
use support::measured::{shared_turn, turn};
use support::quiet::{NOISE_MAX, STALL, await_quiet, undisturbed};
use support::stalls::Watch;
use support::up::{Up, nothing_is_left};
use tandem::live_view::{Event, Happening, Level, Picture};
use tandem::observation::{RunEvent, What};
use tandem::time::Mono;

/// What came of changes: the topology, which has ended, and its events.
type Ended = (Up, Vec<(Mono, Event)>);

/// Roles come and go, members do, and another `up` takes over.
fn come_and_go() -> Ended {
    let _turn = turn();
    await_quiet(NOISE_MAX);
    let topology = grown("");
    let (_folder, file) = written(&topology.text);
    let mut up = Up::start(&format!("-f {}", file.display()));
    up.await_health(Level::Led);
    let follower = up.follow();
    let before: Vec<u32> = processes(&up);
    let change = |roles: usize, count: usize| {
        let (text, picture) = topology.change((&up, &file), (roles, count), &[]);
        assert!(picture.roles.iter().all(|role| role.leaders.len() == 2), "{picture:?}");
        text
    };
    let text = change(300, 2);
    assert!(text.contains("  roles: 3 -> 300 (297 added, 0 removed)\n"), "{text}");
    let text = change(300, 4);
    assert!(text.contains("group p1: p1-3, p1-4 join\n"), "{text}");
    assert!(text.contains("group p2: p2-3 to p2-4 joined\n"), "{text}");
    let text = change(300, 2);
    let order = ["group p1: p1-4 has left", "group p1: p1-3 has left", "group p2: p2-4 has left"];
    let at = order.map(|line| text.find(line).unwrap_or_else(|| panic!("{line}: {text}")));
    assert!(at.is_sorted(), "{text}");
    change(3, 2);
    // Names come again: their lives go on to count.
    change(3, 3);
    let text = change(3, 2);
    assert!(text.contains("p1-3 has left"), "{text}");
    assert_eq!(processes(&up), before, "members that stay are not started again");
    let (code, text) = apply(&up, &file, &[]);
    assert_eq!((code, text.contains("grown is up as the file says")), (Some(0), true), "{text}");
    // Another `up` with the latest file takes its place.
    let mut next = Up::start_in(&format!("-f {} --replace", file.display()), up.state());
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    assert_eq!(stands(&next, "it is watched again", |_| true).roles.len(), 3);
    next.signal(Signal::INT);
    assert_eq!(next.ends().code(), Some(0), "{}", next.said());
    let (_, events) = follower.finish();
    nothing_is_left(up.state());
    (up, events)
}

/// A member that the host keeps from running leads, and serves nothing meanwhile: that is a gap.
fn not_disturbed(play: impl FnOnce() -> Ended) -> Option<Ended> {
    let is_disturbed = |(up, _): &Ended| is_disturbed(&Part::all(up));
    undisturbed(play, is_disturbed, |(up, _)| shown(&Part::all(up)))
}

#[test]
fn roles_and_members_come_and_go_without_a_gap() {
    let Some((up, events)) = not_disturbed(come_and_go) else { return };
    without_a_gap(&events);
    each_file_passes(&up);
}

fn without_a_gap(events: &[(Mono, Event)]) {
    let gaps = events
        .iter()
        .filter(|(_, event)| matches!(event.what, Happening::Gap(_) | Happening::GapBegan(_)));
    let gaps: Vec<_> = gaps.collect();
    assert!(gaps.is_empty(), "{gaps:#?}");
    // The end of a claim may be heard before the start of the next: that is corrected at once.
    let health = events.iter().filter_map(|(_, event)| match event.what {
        Happening::Health { now, .. } => Some((now, event.t)),
        _ => None,
    });
    let health: Vec<_> = health.collect();
    for pair in health.windows(2) {
        let [(now, since), (next, until)] = pair else { continue };
        let led = *now != Level::Degraded || (*next == Level::Led && until == since);
        assert!(led && *now != Level::Down, "{health:#?}");
    }
}

/// Each file has the plan that was in effect, and is judged by itself without a gap.
fn each_file_passes(up: &Up) {
    let parts = parts(up);
    let plans: Vec<(u32, usize)> = parts
        .iter()
        .map(|part| {
            let plan = &part.header.plan;
            (plan.roles.len(), plan.groups.values().next().unwrap().members.len())
        })
        .collect();
    assert_eq!(plans, [(3, 2), (300, 2), (300, 4), (300, 2), (3, 2), (3, 3), (3, 2)]);
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
        let report: tandem::verdict::Report = serde_json::from_slice(&said.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&said.stderr)));
        assert_eq!((report.trials, report.joint.gap.count), (1, 0), "{number}");
        for (name, group) in &report.groups {
            let gaps = gaps(&serde_json::to_value(group).unwrap());
            assert_eq!(gaps, 0, "group {name} in file {number}");
        }
        assert_eq!(said.status.code(), Some(0), "{}", String::from_utf8_lossy(&said.stdout));
    }
    // The whole folder is judged since the last change.
    let said = output(tandem(up.state()).arg("report").arg(&up.out).args(["-o", "json"]));
    assert_eq!(said.status.code(), Some(0), "{said:?}");
}

/// How many gaps there are, of all causes.
fn gaps(value: &serde_json::Value) -> u64 {
    let Some(fields) = value.as_object() else { return 0 };
    let own = fields.get("gap").and_then(|gap| gap["count"].as_u64()).unwrap_or_default();
    own + fields.values().map(gaps).sum::<u64>()
}

/// The client of a change is killed, and settings change.
fn killed_and_set() -> Ended {
    let _turn = turn();
    await_quiet(NOISE_MAX);
    let topology = grown("");
    let (_folder, file) = written(&topology.text);
    let mut up = Up::start(&format!("-f {}", file.display()));
    up.await_health(Level::Led);
    let follower = up.follow();
    fs::write(&file, topology.with(24, 4)).unwrap();
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
    let four = |picture: &Picture| members(picture) == [4, 4] && picture.roles.len() == 24;
    stands(&up, "four members", four);
    // Other thresholds: each member starts again, and its group is led all the time.
    let before = processes(&up);
    let (code, said) = apply(&up, &file, &["--set", "defaults.threshold=2500ms"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("has left and started again").count(), 8, "{said}");
    stands(&up, "four members", four);
    assert!(processes(&up).iter().all(|pid| !before.contains(pid)), "all are new");
    let (code, said) = apply(&up, &file, &["--set", "defaults.threshold=2500ms"]);
    assert!(code == Some(0) && !said.contains("started again"), "{said}");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let (_, events) = follower.finish();
    nothing_is_left(up.state());
    (up, events)
}

#[test]
fn a_change_whose_client_is_killed_is_completed_and_settings_change_one_by_one() {
    let Some((_, events)) = not_disturbed(killed_and_set) else { return };
    without_a_gap(&events);
}

#[test]
fn a_change_that_fails_leaves_no_gap_and_goes_on_when_it_is_ordered_again() {
    let _turn = shared_turn();
    let topology = grown("");
    let (_folder, file) = written(&topology.text);
    let mut up = Up::start(&format!("-f {}", file.display()));
    up.await_health(Level::Led);
    let (watch, began) = (Watch::begin(), Mono::now());
    processes(&up).into_iter().for_each(|pid| watch.add(pid));
    watch.add(up.supervisor());
    // Neither logs nor the journal can be written, so a member cannot start.
    let away = up.out.with_file_name("away");
    fs::rename(&up.out, &away).unwrap();
    fs::write(&file, topology.with(30, 3)).unwrap();
    let (code, said) = apply(&up, &file, &[]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("group p1: p1-3 does not start within 30s"), "{said}");
    assert!(said.contains("the same `tandem apply` goes on"), "{said}");
    let gaps = stands(&up, "the roles are there", |it| it.roles.len() == 30).joint.gaps;
    // Members that the host keeps from running leave gaps as well.
    let stalled = watch.longest(began, Mono::now());
    assert!(gaps == 0 || stalled > STALL, "{gaps} gaps, stalled for {stalled:?} at most");
    fs::rename(&away, &up.out).unwrap();
    let (code, said) = apply(&up, &file, &[]);
    assert_eq!(code, Some(0), "{said}");
    stands(&up, "three members", |picture| members(picture) == [3, 3] && picture.journal.written);
    let last = parts(&up).pop().unwrap().header;
    assert_eq!((last.plan.roles.len(), last.part.unwrap().changed), (30, true));
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

/// Roles are added as soon as those that there are have leaders: members have still to claim other
/// partitions then. Returns the files of the journal, and what was said of the change.
fn ordered_early() -> (Vec<Part>, String) {
    let _turn = turn();
    await_quiet(NOISE_MAX);
    let wide = |text: String| text.replace("partitions: 12", "partitions: 150");
    let topology = grown("");
    let (_folder, file) = written(&wide(topology.with(3, 2)));
    let (_more, changed) = written(&wide(topology.with(400, 2)));
    let mut up = Up::start(&format!("-f {}", file.display()));
    let (code, said) = eventually("an order that is accepted", SOON, || {
        let (code, said) = apply(&up, &changed, &[]);
        let not_yet = ["nothing is up under the name", "it is starting"];
        let is_early = not_yet.iter().any(|why| said.contains(why));
        (!is_early).then_some((code, said))
    });
    assert_eq!(code, Some(0), "{said}\n{}", up.said());
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
    (Part::all(&up), said)
}

#[test]
fn new_roles_have_their_leader_at_once_also_where_members_are_still_joining() {
    // Members that compute beside others may join again and again: the change waits for a while,
    // and then says what it could not wait for.
    let disturbed = |(parts, said): &(Vec<Part>, String)| {
        is_disturbed(parts) || said.contains("new roles may have no leader at first")
    };
    let shows = |(parts, said): &(Vec<Part>, String)| format!("{said}\n{}", shown(parts));
    let Some((parts, said)) = undisturbed(ordered_early, disturbed, shows) else { return };
    assert_eq!(parts.len(), 2, "a file each plan");
    for group in ["p1", "p2"] {
        let gaps = &parts[1].of(group).gaps;
        let (count, first) = (gaps.len(), gaps.first());
        assert!(
            gaps.is_empty(),
            "{group}: {count} gaps, the first {first:?}\n{said}\n{}",
            shown(&parts)
        );
    }
}
