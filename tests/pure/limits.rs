//! Limits, worked by hand: what the steps of an experiment may cost all groups.

use std::path::Path;

use tandem::chaos::{self, Choice, Preview, experiment, fits, load};
use tandem::time::Span;
use tandem::topology::{Page, plan};
use tandem::verdict::{Brief, Limits};

const DUO: &str = include_str!("../../topologies/duo.yaml");

fn brief(method: &str, set: &str) -> Brief {
    let text = format!("version: 1\nname: x\nmethod:\n{method}");
    let (experiment, _) = experiment(&text).unwrap();
    let plan = plan(DUO, &[set.parse().unwrap()]).unwrap();
    chaos::brief(&experiment, &plan.with_longest_pause(experiment.longest_pause()))
}

/// Gap and overlap in ms: of `p1`, of `p2`, of both together, where members do not hand over.
fn limits(method: &str) -> [(u128, u128); 3] {
    limits_with(method, "defaults.handover=false")
}

fn limits_with(method: &str, set: &str) -> [(u128, u128); 3] {
    let brief = brief(method, set);
    let ms = |limit: Option<Span>| limit.unwrap().get().as_millis();
    let of = |limits: &Limits| (ms(limits.gap), ms(limits.overlap));
    [of(&brief.limits["p1"]), of(&brief.limits["p2"]), of(&brief.joint)]
}

#[test]
fn doing_nothing_costs_nothing() {
    assert_eq!(limits("  - {fault: noop, for: 1s}"), [(0, 0); 3]);
}

#[test]
fn a_kill_costs_the_group_that_it_hits_and_never_all() {
    // At the takeover and at the restart, 2s after it, roles move: the overlaps can meet.
    let hit = (1_255, 6_000);
    let p1 = "  - {fault: kill, target: {leader_of: any, group: p1}}";
    assert_eq!(limits(p1), [hit, (0, 0), (0, 6_000)]);
    let any = "  - {fault: kill, target: {leader_of: any, group: any}}";
    assert_eq!(limits(any), [hit, hit, (0, 6_000)]);
    let late = "  - {fault: kill, restart_after: 10s, target: {member: p2-1}}";
    assert_eq!(limits(late), [(0, 0), (1_255, 3_000), (0, 3_000)]);
}

/// A new owner's statement arrives with the next beacon at the latest: `tau` and a latency.
#[test]
fn members_that_hand_over_lead_twice_until_the_new_owner_says_so() {
    let of = |step: &str| {
        let step = format!("  - {{{step}, target: {{member: p1-1}}}}");
        limits_with(&step, "defaults.handover=true")[0]
    };
    assert_eq!(of("fault: kill"), (1_255, 120));
    assert_eq!(of("fault: kill, restart_after: 1s, overlap_restart: true"), (1_255, 240));
    // It leads on until its successor does.
    assert_eq!(of("fault: leave"), (0, 120));
    assert_eq!(of("fault: duplicate, for: 2s"), (0, 120));
    // Its own claims last as long as without, and end when it hears that it was expelled.
    assert_eq!(of("fault: partition, for: 5s"), (0, 2_150));
    assert_eq!(of("fault: pause, for: 3s"), (1_255, 2_150 + 150 + 200 + 120 + 120));
}

#[test]
fn all_groups_lack_a_leader_only_where_all_can_be_hit_at_once() {
    let across = "  - {fault: kill, target: {leader_of: any, across: {groups: all}}}";
    assert_eq!(limits(across)[2].0, 1_255);
    let only = "  - {fault: kill, target: {leader_of: any, across: {groups: [p1]}}}";
    assert_eq!(limits(only)[2].0, 0);
    let close = "  - {fault: kill, target: {member: p1-1}}\n  \
                 - {at: 500ms, fault: kill, target: {member: p2-1}}";
    assert_eq!(limits(close)[2].0, 1_255);
    let apart = "  - {fault: kill, target: {member: p1-1}}\n  \
                 - {at: 2s, fault: kill, target: {member: p2-1}}";
    assert_eq!(limits(apart)[2].0, 0);
    let twice_any = "  - {fault: kill, target: {leader_of: any}}\n  \
                     - {at: 1s, fault: kill, target: {leader_of: any}}";
    // Both can hit one group, too: then the second death holds up the first takeover.
    assert_eq!(limits(twice_any).map(|(gap, _)| gap), [2_510, 2_510, 2_510]);
}

#[test]
fn a_group_without_a_survivor_waits_for_the_restart() {
    let all = "  - {fault: kill, target: {group: p1, mode: all}}";
    assert_eq!(limits(all)[0].0, 2_000 + 1_000 + 1_255);
    let pause = "  - {fault: pause, for: 3s, target: {group: p1, mode: all}}";
    assert_eq!(limits(pause)[0].0, 3_000 + 1_255);
    let most = "  - {fault: pause, for: 3s, target: {group: p1, mode: majority}}";
    assert_eq!(limits(most)[0], (1_255, 5_500 + 240));
}

#[test]
fn members_that_are_cut_off_cost_as_much_as_an_isolation() {
    // With a threshold of 3s there is no gap; roles move when the members go, and back when they
    // return.
    let one = "  - {fault: partition, for: 5s, target: {leader_of: any, group: p1}}";
    assert_eq!(limits(one), [(0, 3_000), (0, 0), (0, 3_000)]);
    // Those that move back before the first claims lapsed are led by three in turn.
    let soon = "  - {fault: partition, for: 2s, target: {leader_of: any, group: p1}}";
    assert_eq!(limits(soon)[0], (0, 6_000));
    let host = "  - {fault: partition, for: 6s, target: {host: alpha}}";
    let cluster = "  - {fault: partition, for: 6s, target: {cluster: a}}";
    let all = "  - {fault: partition, for: 6s, target: {group: p1, mode: all}}";
    let gap = 6_000 + 120 + 1_255 + 240 - 3_000;
    for method in [host, cluster, all] {
        // They come one after the other, and what moved to the first moves to the next.
        let overlap = 3_000 + 3_000 + 300 + 240;
        assert_eq!(limits(method), [(gap, overlap), (0, 0), (0, overlap)], "{method}");
    }
    // A member that was held and has been expired makes the group wait for its session.
    let stall = "  - {fault: partition, behavior: stall, for: 5s, target: {member: p1-1}}";
    assert_eq!(limits(stall)[0], (0, 3_000 + 1_255));
}

#[test]
fn a_cluster_that_is_away_costs_its_groups_all_that_time_and_a_start_up() {
    let limits = |step: &str| limits(&format!("  - {{fault: broker, target: {step}}}"));
    // D + 500 + B + F + a - T: the new broker knows no sessions.
    let hit = (10_000 + 500 + 240 + 120 - 3_000, 3_000 + 240 + 300);
    assert_eq!(limits("{cluster: a}, restart_after: 10s"), [hit, (0, 0), (0, hit.1)]);
    let any = [hit, hit, (0, hit.1)];
    assert_eq!(limits("{cluster: any}, restart_after: 10s"), any);
    // An embedded cluster has one broker.
    assert_eq!(limits("{coordinator_of: any}, how: stop, restart_after: 10s"), any);
    assert_eq!(limits("{leader_of: brent}, restart_after: 10s"), any);
    // Who was only paused still knows the sessions of all, and they are over.
    let paused = (8_000 + 1_000 + 1_255 + 120 - 3_000, hit.1);
    let pause = limits("{cluster: b}, how: pause, for: 8s");
    assert_eq!(pause, [(0, 0), paused, (0, hit.1)]);
    // Shorter than a threshold, so there is no gap.
    assert_eq!(limits("{cluster: a}, restart_after: 2s")[0], (0, hit.1));
}

#[test]
fn two_clusters_that_are_away_at_once_are_all_there_is() {
    let two = "  - {fault: broker, target: {cluster: any}}\n  \
               - {at: 1s, fault: broker, target: {cluster: any}}";
    assert!(limits(two)[2].0 > 0);
    let apart = "  - {fault: broker, restart_after: 2s, target: {cluster: a}}\n  \
                 - {at: 20s, fault: broker, target: {cluster: b}}";
    assert_eq!(limits(apart)[2].0, 0);
}

#[test]
fn the_cost_of_a_lost_cluster_begins_later_than_the_loss() {
    // Claims outlive it by 3s; no member of its group leads from then until all are back, at 10.9s.
    let meets = |at: &str| {
        let lost = "  - {fault: broker, restart_after: 10s, target: {cluster: a}}";
        let killed = format!("  - {{at: {at}, fault: kill, target: {{member: p2-1}}}}");
        limits(&format!("{lost}\n{killed}"))[2].0
    };
    assert_eq!(meets("10s"), 1_255);
    assert_eq!(meets("30s"), 0);
}

#[test]
fn a_clock_that_is_wrong_costs_nothing() {
    let clock = "  - {fault: clock, for: 5s, ahead: 1h, target: {leader_of: any}}";
    assert_eq!(limits(clock), [(0, 0); 3]);
}

#[test]
fn a_group_waits_for_a_stopped_member_and_not_for_one_that_leaves() {
    let of = |fault: &str| limits(&format!("  - {{fault: {fault}, target: {{member: p1-1}}}}"))[0];
    // B + F, and what moved twice.
    assert_eq!(of("leave"), (240, 6_000));
    assert_eq!(of("stop"), of("kill"));
    let host = limits("  - {fault: host, target: {host: beta}}");
    assert_eq!(host.map(|(gap, _)| gap), [0, 2_000 + 1_000 + 1_255, 0]);
    let any = limits("  - {fault: host, target: {host: any}}");
    assert_eq!(any.map(|(gap, _)| gap), [4_255, 4_255, 0], "either machine, and never both");
}

#[test]
fn a_second_process_costs_a_join_and_a_leave() {
    let of = |lasts: &str| {
        let step = format!("{{fault: duplicate, for: {lasts}, target: {{member: p1-1}}}}");
        limits(&format!("  - {step}"))[0]
    };
    // Before what it took has lapsed elsewhere it gives it back.
    assert_eq!(of("2s"), (240, 6_000));
    assert_eq!(of("10s"), (240, 3_000));
}

#[test]
fn a_rollout_costs_as_much_as_one_leave() {
    let hit = (240, 6_000);
    let all = "  - {fault: rollout, restart_after: 1s}";
    assert_eq!(limits(all), [hit, hit, (0, 6_000)]);
}

#[test]
fn a_storm_costs_the_worst_combination_of_simultaneous_strikes() {
    let of = |more: &str| {
        let step = "fault: storm, for: 1m, hold: 2s, faults: {kill: 1, leave: 5, pause: 1}";
        let text = format!("version: 1\nname: x\nmethod:\n  - {{{step}, {more}\n");
        let (experiment, _) = experiment(&text).unwrap();
        let plan = plan(DUO, &[]).unwrap().with_longest_pause(experiment.longest_pause());
        let brief = chaos::brief(&experiment, &plan);
        let gap = |limits: &Limits| limits.gap.unwrap().get().as_millis();
        [gap(&brief.limits["p1"]), gap(&brief.limits["p2"]), gap(&brief.joint)]
    };
    // One at the end of its round, and one at the beginning of the next, in one group or in two.
    assert_eq!(of("every: 10s}"), [2 * 1_255, 2 * 1_255, 2 * 1_255]);
    let one = "every: 10s}\nlimits: {groups: 1}";
    assert_eq!(of(one), [2 * 1_255, 2 * 1_255, 0], "it keeps to its limits");
    let churn = "  - {fault: churn, for: 1m, every: 1s, target: {group: any}}";
    assert_eq!(limits(churn)[2].0, 0, "of one group or of the other");
    // All members can be away at once, so the group waits for a restart.
    let dense = of("every: 1s}");
    assert!(dense[0] > 4_255, "{dense:?}");
    let kept = of("every: 1s}\nlimits: {members: 1, groups: 1}");
    assert_eq!(kept[2], 0);
    assert!(kept[0] < dense[0], "{kept:?} {dense:?}");
}

#[test]
fn an_unknown_bound_is_absent() {
    let known = |method: &str| {
        let brief = brief(method, "defaults.handover=false");
        let p1 = &brief.limits["p1"];
        assert_eq!(brief.limits["p2"], Limits::NONE, "{method}");
        (p1.gap.is_some(), p1.overlap.is_some())
    };
    let step = |what: &str| format!("  - {{{what}, for: 4s, target: {{member: p1-1}}}}");
    assert_eq!(known(&step("fault: partition")), (true, true));
    assert_eq!(known(&step("fault: partition, behavior: reset")), (true, true));
    assert_eq!(known(&step("fault: partition, from: {coordinator_of: any}")), (true, true));
    assert_eq!(known(&step("fault: partition, apis: coordinator")), (true, false));
    // Members that hear nothing give way, if they join their group themselves.
    let deaf = step("fault: partition, apis: data");
    assert_eq!(limits_with(&deaf, "defaults.handover=true")[0].0, 240);
    assert!(brief(&deaf, "defaults.membership=librdkafka").limits["p1"].gap.is_none());
    assert_eq!(known(&step("fault: protocol, behavior: stall, apis: coordinator")), (true, false));
    for what in [
        "fault: partition, direction: to_member",
        "fault: partition, apis: [heartbeat]",
        "fault: slow, latency: 10ms",
        "fault: protocol, apis: coordinator, latency: 10ms",
        "fault: protocol, apis: coordinator, error: NOT_COORDINATOR",
    ] {
        assert_eq!(known(&step(what)), (false, false), "{what}");
    }
    // What is not bounded is not bounded beside anything else.
    let beside = "  - {fault: kill, target: {member: p1-1}}\n  \
                  - {fault: slow, latency: 1s, for: 1s, target: {member: p1-2}}";
    assert_eq!(known(beside), (false, false));
}

/// An experiment on a topology of two groups of three members, with limits.
fn refused(limits: &str, method: &str) -> Vec<String> {
    let text = format!("version: 1\nname: x\nlimits: {limits}\nmethod:\n{method}");
    let (experiment, document) = experiment(&text).unwrap();
    let plan = plan(DUO, &[]).unwrap();
    fits(&experiment, &document, &plan).into_iter().map(|problem| problem.message).collect()
}

#[test]
fn only_steps_that_must_break_a_limit_are_refused() {
    let none: [String; 0] = [];
    let all = "  - {fault: kill, target: {group: any, mode: all}}";
    assert_eq!(refused("{members: 1}", all), ["3 members of `p1` would be down: the limit is 1"]);
    assert_eq!(refused("{members: 3}", all), none);
    // Who leads may be one member, or all of them.
    let leaders = "  - {fault: kill, target: {group: p1, mode: leaders}}";
    assert_eq!(refused("{members: 1}", leaders), none);
    assert_eq!(
        refused("{members: 0}", leaders),
        ["1 member of `p1` would be down: the limit is 0"]
    );
    // The second may strike the other group, and then only the number of groups is too great.
    let two = "  - {id: k, fault: kill, target: {leader_of: any}, restart_after: 9s}\n  \
               - {after: k, fault: kill, target: {leader_of: any, group: any}}";
    assert_eq!(refused("{members: 1}", two), none);
    assert_eq!(refused("{groups: 1}", two), none);
    let broken = ["2 members of `p1` would be down: the limit is 1"];
    assert_eq!(refused("{members: 1, groups: 1}", two), broken);
    // By then the first is back, or may be.
    let later = |at: &str| {
        format!(
            "  - {{fault: pause, for: 3s, target: {{member: p1-1}}}}\n  \
             - {{at: {at}, jitter: 500ms, fault: pause, for: 1s, target: {{member: p1-2}}}}"
        )
    };
    assert_eq!(refused("{members: 1}", &later("1s")), broken);
    assert_eq!(refused("{members: 1}", &later("2600ms")), none);
    // A storm keeps to its limits by itself.
    let storm = "  - {fault: storm, for: 20s, every: 1s, faults: {kill: 1}}";
    assert_eq!(refused("{members: 1, groups: 1}", storm), none);
    assert_eq!(
        refused("{time: 9s}", "  - {fault: noop, for: 10s}"),
        ["1 trial takes at least 10s: the limit of time is 9s"]
    );
}

/// What a plan says of a fault is what a dry run says of it, beside what the return adds.
#[test]
fn a_dry_run_and_a_plan_say_the_same_of_the_same_fault() {
    for (name, row) in [
        ("kill-leader", "kill"),
        ("stop-leader", "kill"),
        ("leave-leader", "leave"),
        ("isolate-leader", "isolation"),
        ("pause-leader", "pause"),
    ] {
        let path = format!("chaos/{name}.yaml");
        let prepared = load(Path::new(&path), &Choice::default()).unwrap();
        let page = Page(&prepared.plan).to_string();
        let said = page.lines().find_map(|line| line.trim().strip_prefix(row)).unwrap();
        let most = |text: &str| text.rsplit(' ').next().unwrap().replace("none", "0");
        let (gap, overlap) = said.trim().split_once("  ").unwrap();
        let costs = Preview::of(&prepared, 1).steps[0].costs.unwrap();
        let ms = |span: Span| span.get().as_millis();
        let by_fault = ms(costs.overlap.unwrap()) - ms(costs.of_return);
        let both = (ms(costs.gap.unwrap()).to_string(), by_fault.to_string());
        assert_eq!(both, (most(gap), most(overlap.trim())), "{name}: {said:?}");
        let brief = prepared.brief.limits.values().map(|limits| limits.overlap.unwrap()).max();
        assert_eq!(brief, costs.overlap, "{name}");
    }
}
