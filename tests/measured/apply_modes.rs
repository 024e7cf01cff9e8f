//! `tandem apply` on groups that elect in other ways: one in exclusive mode never has two leaders,
//! one whose members stand in for the dead goes on to do so, and one without a cluster leads on.

use std::collections::BTreeSet;

use rustix::process::Signal;
use support::applied::{
    Part, all_live, is_disturbed, mixture, process, processes, seat, shown, stands, written,
};
use support::experiment::signal_pid;
use support::measured::turn;
use support::quiet::{NOISE_MAX, STALL, await_quiet, undisturbed};
use support::stalls::Watch;
use support::up::{Up, nothing_is_left};
use tandem::live_view::Happening;
use tandem::timeline::{CauseKind, Finding};

/// What holds on every host, busy or not.
fn has_one_leader_where_promised(part: &Part, number: usize) {
    for name in ["p1", "p3"] {
        assert_eq!(part.overlaps(name), [], "group {name} in file {number}");
    }
}

/// What holds unless the host kept a process from running. A takeover has many turns of members and
/// brokers, and each may wait for less than disturbs a member: what they waited in all counts here,
/// and a gap in which that was too much says nothing.
fn is_within_bounds(part: &Part, number: usize, watch: &Watch) {
    let late = |gap: &Finding| watch.total(gap.span.from, gap.span.until);
    let judged = |name: &str| {
        let gaps = part.of(name).gaps.iter().map(|gap| (late(gap), gap.clone()));
        gaps.filter(|(late, _)| *late <= STALL).collect::<Vec<_>>()
    };
    let joint = &part.timeline.joint.gaps;
    assert!(joint.is_empty(), "file {number}: {joint:?}");
    let found = judged("p3");
    assert!(found.is_empty(), "nothing happens to p3 in file {number}: {found:?}");
    let groups = &part.recording.header.plan.groups;
    let bounds = &groups["p1"].bounds;
    let most = bounds.restart.gap.high.max(bounds.leave.gap.high).get();
    let found = judged("p1");
    let short = found.iter().all(|(late, gap)| gap.span.length() <= most + *late);
    assert!(short, "p1 in file {number}: bound {most:?}, {found:?}");
    let bounds = &groups["p2"].bounds;
    let most = bounds.kill.gap.high.get();
    let killed = |gap: &Finding| gap.cause.kind().0 == CauseKind::Death;
    let found = judged("p2");
    let short = found.iter().all(|(late, gap)| killed(gap) && gap.span.length() <= most + *late);
    assert!(short, "p2 in file {number}: bound {most:?}, {found:?}");
    let most = bounds.restart.overlap.high.max(bounds.kill.overlap.high).get();
    let found = part.overlaps("p2");
    let short = found.iter().all(|overlap| *overlap <= most);
    assert!(short, "p2 in file {number}: {found:?}, bound {most:?}");
}

/// Roles come and go, members do, one that has come dies, and settings change. Returns the files of
/// the journal, and how late the host let the processes run.
fn play() -> (Vec<Part>, Watch) {
    let _turn = turn();
    await_quiet(NOISE_MAX);
    let topology = mixture();
    let (_folder, file) = written(&topology.text);
    let mut up = Up::start(&format!("-f {}", file.display()));
    stands(&up, "every role led", all_live);
    let mut follower = up.follow();
    let watch = Watch::begin();
    watch.add_with_children(up.supervisor());
    let before = processes(&up);
    let change = |roles: usize, count: usize, args: &[&str]| {
        topology.change((&up, &file), (roles, count), args).1
    };
    change(30, 2, &[]);
    assert_eq!(processes(&up), before, "no process is touched for roles");
    change(30, 3, &[]);
    // A member that has come is linked as the others are.
    signal_pid(process(&up, "p2-3"), Signal::KILL);
    follower.await_event("a stand-in of the dead", |event| match &event.what {
        Happening::StandsIn { of, .. } => (of.member.as_str() == "p2-3").then_some(()),
        _ => None,
    });
    stands(&up, "its next life", |picture| {
        let seat = seat(picture, "p2-3");
        seat.incarnation.0 == 2 && seat.pid.is_some()
    });
    let picture = change(3, 2, &[]);
    assert_eq!(processes(&up), before, "those that stay are not started again");
    assert!(picture.roles.iter().all(|role| role.leaders.len() == 3), "{picture:?}");
    change(3, 2, &["--set", "groups.p2.beacons=owners"]);
    let now = processes(&up);
    let same: Vec<_> = before.iter().map(|pid| now.contains(pid)).collect();
    assert_eq!(same, [true, true, false, false, true, true, true], "those of p2 are new");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let events = follower.finish().1;
    let stood_in: BTreeSet<_> = events
        .iter()
        .filter_map(|(_, event)| match &event.what {
            Happening::StandsIn { of, .. } => Some(of.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(stood_in, BTreeSet::from(["p2-3.1".to_owned()]), "a leave is no death");
    let parts = Part::all(&up);
    assert_eq!(parts.len(), 5, "a file each plan");
    for (part, number) in parts.iter().zip(1..) {
        has_one_leader_where_promised(part, number);
    }
    nothing_is_left(up.state());
    (parts, watch)
}

#[test]
fn other_elections_keep_their_promises_while_roles_and_members_come_and_go() {
    let disturbed = |(parts, _): &(Vec<Part>, Watch)| is_disturbed(parts);
    let played = undisturbed(play, disturbed, |(parts, _)| shown(parts));
    let Some((parts, watch)) = played else { return };
    for (part, number) in parts.iter().zip(1..) {
        is_within_bounds(part, number, &watch);
    }
    // An exclusive group that gives up its partitions for a rebalance does not go unnoticed.
    assert!(parts.iter().any(|part| !part.of("p1").gaps.is_empty()), "joins and leaves of p1");
}
