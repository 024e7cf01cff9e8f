//! Bounds and limits, worked by hand: what a fault may cost a group, and what the steps of an
//! experiment may cost all of them.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use tandem::chaos::{self, Choice, Preview, experiment, fits, load};
use tandem::time::Span;
use tandem::topology::{
    Address, Assignor, Bound, Bounds, MembershipClient, Mode, OnDeath, Pace, Page, Range, Recall,
    Terms, bounds, outage_bound, plan,
};
use tandem::verdict::{Brief, Limits};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn span(range: Range) -> (u128, u128) {
    (range.low.get().as_millis(), range.high.get().as_millis())
}

fn both(bound: Bound) -> [(u128, u128); 2] {
    [span(bound.gap), span(bound.overlap)]
}

/// S = 1000, h = 100, wake = 50, so h' = 150; x = 15; B = 150 + 50 + 2 * 5 = 210; F = 30; a = 120.
fn pace(threshold: u64) -> Pace {
    Pace {
        mode: Mode::NonExclusive,
        session: tandem::time::Span::ms(1_000),
        heartbeat: tandem::time::Span::ms(100),
        wake: tandem::time::Span::ms(50),
        beacon: tandem::time::Span::ms(100),
        threshold: tandem::time::Span::ms(threshold),
        hold: tandem::time::Span::ms(0),
        assignor: Assignor::Roundrobin,
        membership: MembershipClient::Library,
        on_death: OnDeath::default(),
    }
}

fn terms(threshold: u64) -> Terms {
    Terms::of(&pace(threshold), &Address::Embedded)
}

#[test]
fn the_terms_follow_from_the_pace_and_the_cluster() {
    let terms = terms(3_000);
    assert_eq!(terms.silence(), ms(150));
    assert_eq!(terms.rebalance, ms(210));
    assert_eq!((terms.first, terms.age, terms.lag), (ms(30), ms(120), ms(15)));
    assert_eq!((terms.grace, terms.clock), (Duration::ZERO, Duration::ZERO));
    assert_eq!(terms.seamless_threshold(), ms(1_000 + 15 + 210 + 30 + 120));
}

#[test]
fn a_death_costs_a_session_and_a_rebalance() {
    let bounds = bounds(&terms(3_000), None);
    assert_eq!(both(bounds.kill), [(850, 1_255), (0, 3_000)]);
    assert_eq!(both(bounds.leave), [(0, 240), (0, 3_000)]);
    assert_eq!(both(bounds.restart), [(0, 0), (0, 3_000)]);
}

#[test]
fn isolation_costs_the_time_beyond_the_threshold() {
    assert_eq!(both(bounds(&terms(3_000), None).isolation), [(0, 0), (0, 2_150)]);
    // 1375 would be seamless.
    assert_eq!(both(bounds(&terms(1_200), None).isolation), [(0, 175), (0, 350)]);
}

/// In exclusive mode no bound allows an overlap but that of a broker that forgets its groups.
#[test]
fn exclusive_groups_have_no_overlap() {
    let pace = |hold| Pace {
        mode: Mode::Exclusive,
        threshold: tandem::time::Span::ms(800),
        hold: tandem::time::Span::ms(hold),
        ..pace(3_000)
    };
    // F = 30, for two answers of at most 10 ms each come meanwhile; a = max(120, 200 + 50 + 10).
    let of = |hold| bounds(&Terms::of(&pace(hold), &Address::Embedded), Some(ms(500)));
    let Bounds { kill, leave, isolation, pause, restart, .. } = of(0);
    assert_eq!(both(kill), [(850, 1_255), (0, 0)]);
    assert_eq!(both(leave), [(0, 240), (0, 0)]);
    assert_eq!(both(restart), [(0, 240), (0, 0)]);
    assert_eq!(both(isolation), [(0, 1_255 + 260 - 800), (0, 0)]);
    assert_eq!(both(pause), [(500, 530), (0, 0)]);
    // Each rebalance waits for claims that outlive a revocation.
    assert_eq!(both(of(200).leave), [(0, 440), (0, 0)]);
    let terms = Terms::of(&pace(0), &Address::Embedded);
    let overlap = |recall| both(outage_bound(&terms, ms(500), recall))[1];
    assert_eq!(overlap(Recall::Nothing), (0, 800));
    assert_eq!([overlap(Recall::All), overlap(Recall::Reads)], [(0, 0); 2]);
}

/// A member that wakes while its group gives its partitions away interrupts that once.
#[test]
fn a_pause_of_a_session_costs_a_takeover_or_a_rebalance_after_it() {
    let pace = Pace { mode: Mode::Exclusive, ..pace(800) };
    let terms = Terms::of(&pace, &Address::Embedded);
    let longest = |pause| both(bounds(&terms, Some(ms(pause))).pause)[0].1;
    assert_eq!(
        [849, 850, 1_015, 1_100, 1_255, 1_256, 9_000].map(longest),
        [879, 1_255, 1_255, 1_340, 1_495, 1_255, 1_255]
    );
}

/// A controller that leaves for the dead: 10 ms until it knows, four round trips, and a rebalance.
#[test]
fn a_death_that_is_left_for_costs_a_rebalance_at_any_session() {
    for session in [1_000, 10_000] {
        let pace = Pace {
            session: tandem::time::Span::ms(session),
            on_death: OnDeath::Leave,
            ..pace(3 * session)
        };
        let terms = Terms::of(&pace, &Address::Embedded);
        assert_eq!(both(bounds(&terms, None).kill)[0], (0, 10 + 4 * 5 + 240));
        assert_eq!(terms.soonest_restart(), ms(30 + 240));
    }
}

#[test]
fn a_pause_costs_itself_or_a_takeover_plus_the_stale_claims() {
    let pause = |longest| both(bounds(&terms(3_000), longest).pause);
    assert_eq!(pause(Some(ms(200))), [(200, 200), (0, 3_350)]);
    assert_eq!(pause(Some(ms(900))), [(850, 900), (0, 50 + 3_350)]);
    assert_eq!(pause(Some(ms(3_000))), [(850, 1_255), (0, 2_150 + 3_350)]);
    assert_eq!(pause(None), pause(Some(ms(60_000))));
}

#[test]
fn a_dead_broker_costs_failover_search_and_isolation() {
    let terms = Terms { failover: ms(4_000), ..terms(3_000) };
    // A second to find it, a second because it reads: 4000 + 2000 + 1375 - 3000. Members may join
    // these two seconds apart, and what moved is claimed twice for T, B and F.
    assert_eq!(both(bounds(&terms, None).broker), [(0, 4_375), (0, 5_240)]);
}

proptest! {
    /// A bound that is too wide proves nothing.
    #[test]
    fn a_gap_is_known_to_within_its_terms(
        session in 100u64..60_000, heartbeat in 1u64..100, wake in 10u64..50,
        threshold in 1u64..200_000, pause in prop::option::of(0u64..100_000),
    ) {
        let terms = Terms {
            session: ms(session),
            heartbeat: ms(heartbeat),
            wake: ms(wake),
            threshold: ms(threshold.max(session + 1)),
            rebalance: ms(heartbeat + 2 * wake + 10),
            ..self::terms(3_000)
        };
        let width = terms.silence() + terms.rebalance + terms.first + terms.lag + ms(100);
        let bounds = bounds(&terms, pause.map(ms));
        for gap in [bounds.kill.gap, bounds.pause.gap] {
            prop_assert!(gap.low <= gap.high);
            prop_assert!(gap.high.get() - gap.low.get() <= width);
        }
        prop_assert!(bounds.isolation.gap.high <= bounds.kill.gap.high.max(bounds.leave.gap.high));
    }
}

const DUO: &str = include_str!("../../topologies/duo.yaml");

fn brief(method: &str) -> Brief {
    let text = format!("version: 1\nname: x\nmethod:\n{method}");
    let (experiment, _) = experiment(&text).unwrap();
    let plan = plan(DUO, &[]).unwrap().with_longest_pause(experiment.longest_pause());
    chaos::brief(&experiment, &plan)
}

/// Gap and overlap in ms: of `p1`, of `p2`, of both together.
fn limits(method: &str) -> [(u128, u128); 3] {
    let brief = brief(method);
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
        let brief = brief(method);
        let p1 = &brief.limits["p1"];
        assert_eq!(brief.limits["p2"], Limits::NONE, "{method}");
        (p1.gap.is_some(), p1.overlap.is_some())
    };
    let step = |what: &str| format!("  - {{{what}, for: 4s, target: {{member: p1-1}}}}");
    assert_eq!(known(&step("fault: partition")), (true, true));
    assert_eq!(known(&step("fault: partition, behavior: reset")), (true, true));
    assert_eq!(known(&step("fault: partition, from: {coordinator_of: any}")), (true, true));
    assert_eq!(known(&step("fault: partition, apis: coordinator")), (true, false));
    assert_eq!(known(&step("fault: protocol, behavior: stall, apis: coordinator")), (true, false));
    for what in [
        "fault: partition, direction: to_member",
        "fault: partition, apis: data",
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
