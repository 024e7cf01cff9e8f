//! What an experiment may do to what is up: it stays within both limits, and leaves a leader.

use tandem::chaos::{Allowed, read_on, with_outside};
use tandem::topology::{Allowance, Plan, Share, plan};

const SOLO: &str = include_str!("../../topologies/solo.yaml");
const DUO: &str = include_str!("../../topologies/duo.yaml");

fn up(text: &str, set: &[&str]) -> Plan {
    let set: Vec<_> = set.iter().map(|one| one.parse().unwrap()).collect();
    plan(text, &set).unwrap()
}

/// The limits under which a step is carried out, or the reasons why it is not.
fn limits(up: &Plan, step: &str, limits: &str) -> Result<Allowance, String> {
    let text = format!("version: 1\nname: x\nlimits: {limits}\nmethod:\n  - {{{step}}}\n");
    let read = read_on(&text, up, &Allowed::Only(Vec::new()));
    read.map(|(experiment, _)| experiment.limits).map_err(|problems| {
        let said = |it: tandem::yaml::Problem| format!("{}: {}", it.message, it.hint.unwrap());
        problems.into_iter().map(said).collect::<Vec<_>>().join("\n")
    })
}

#[test]
fn the_stricter_limits_hold_whoever_states_them() {
    let kill = "fault: kill, target: {member: p1-1}";
    let of = |set: &[&str], own: &str| limits(&up(DUO, set), kill, own).unwrap();
    assert_eq!(of(&[], "{}").groups, Some(1), "of two groups one is spared");
    assert_eq!(of(&[], "{groups: 2}").groups, Some(1));
    let allowed = |members| Allowance { members: Some(members), groups: Some(1), time: None };
    let topology = ["limits.members=2"];
    assert_eq!(of(&topology, "{}"), allowed(Share::Count(2)));
    assert_eq!(of(&topology, "{members: 50%}"), allowed(Share::Percent(50)), "1 of 3");
    assert_eq!(of(&topology, "{members: 100%}"), allowed(Share::Count(2)));
    // Of two shares neither of which is stricter in both groups, the least of both holds in each.
    let sizes = ["limits.members=2", "groups.p2.members=10"];
    assert_eq!(of(&sizes, "{members: 40%}"), allowed(Share::Count(1)));
}

#[test]
fn a_leader_is_left() {
    let refused = |up: &Plan, step: &str| limits(up, step, "{}").unwrap_err();
    let solo = up(SOLO, &[]);
    let all = refused(&solo, "fault: kill, target: {group: any, mode: all}");
    assert!(all.contains("would be down") && all.contains("leaves a leader"), "{all}");
    let one = limits(&solo, "fault: kill, target: {group: any, mode: one}", "{}").unwrap();
    let size = solo.groups.values().next().unwrap().members.len();
    assert_eq!(one.members, Some(Share::Count(u32::try_from(size).unwrap() - 1)));
    let duo = up(DUO, &[]);
    let both =
        refused(&duo, "fault: pause, for: 1s, target: {leader_of: any, across: {groups: all}}");
    assert!(both.contains("2 groups would be hit at once: the limit is 1"), "{both}");
    // A whole group may be hit: the other leads on.
    assert!(limits(&duo, "fault: kill, target: {group: p1, mode: all}", "{}").is_ok());
}

#[test]
fn what_is_up_is_not_changed_for_an_experiment() {
    let cut = "fault: partition, for: 1s, target: {member: p1-1}";
    let refused = limits(&up(DUO, &[]), cut, "{}").unwrap_err();
    assert!(refused.contains("connect to their brokers directly: write `edges: proxied`"));
    assert!(limits(&up(DUO, &["edges=proxied"]), cut, "{}").is_ok());
    let command = "fault: exec, for: 1s, command: [\"true\"], undo: [\"true\"]";
    let refused = limits(&up(DUO, &[]), command, "{}").unwrap_err();
    assert!(refused.contains("--allow-exec"), "{refused}");
}

#[test]
fn members_that_others_start_are_hit_only_where_they_allow_it_and_by_what_can_be_ordered() {
    let others = |chaos: &str| {
        let p2 = format!("groups.p2={{cluster: b, launch: external{chaos}}}");
        up(DUO, &["clusters.b={bootstrap: \"h:1\"}", &p2])
    };
    let kill = "fault: kill, target: {member: p1-1}";
    let refused = limits(&others(""), kill, "{}").unwrap_err();
    assert!(refused.contains("has not started the members of group `p2`"), "{refused}");
    assert!(refused.contains("chaos: allowed"), "{refused}");
    let allowed = others(", chaos: allowed");
    let refused = limits(&allowed, kill, "{}").unwrap_err();
    assert!(refused.contains("group `p2` has no member that an experiment may hit"), "{refused}");
    assert!(refused.contains("tandem hold"), "{refused}");

    let members = ["p2-a", "p2-b"].map(|name| name.parse().unwrap()).to_vec();
    let seen = with_outside(&allowed, &[("p2".parse().unwrap(), members)].into());
    assert_eq!(limits(&seen, kill, "{}").unwrap().groups, Some(1));
    for step in [
        "fault: kill, target: {member: p2-a}",
        "fault: leave, target: {member: p2-b}",
        "fault: pause, for: 1s, target: {leader_of: any, group: p2}",
        "fault: noop, for: 1s",
        "fault: partition, for: 1s, target: {member: p2-a}",
        // It may not hit the others, and so it may be anything.
        "fault: stop, target: {member: p1-1}",
    ] {
        limits(&seen, step, "{}").unwrap_or_else(|why| panic!("{step}: {why}"));
    }
    let refused = |step: &str| limits(&seen, step, "{}").unwrap_err();
    let stop = refused("fault: stop, target: {member: p2-a}");
    assert!(stop.contains("no stop can be ordered of the members of group `p2`"), "{stop}");
    let part = refused("fault: partition, for: 1s, behavior: stall, target: {member: p2-a}");
    assert!(part.contains("`partition` with `for` and nothing else"), "{part}");
    let both = refused("fault: partition, for: 1s, target: {leader_of: any, group: any}");
    assert!(both.contains("write `edges: proxied`"), "{both}");
    let clock = refused("fault: clock, ahead: 1s, for: 1s, target: {group: any, mode: one}");
    assert!(clock.contains("can be ordered of the members of group `p2`"), "{clock}");
    let back = refused("fault: kill, restart_after: 9s, target: {member: p2-a}");
    assert!(back.contains("others start the members of group `p2` again"), "{back}");
    let stranger = refused("fault: kill, target: {member: p2-c}");
    assert!(stranger.contains("there is no member `p2-c`"), "{stranger}");
}
