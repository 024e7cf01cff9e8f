//! A machine, and everything with its label: members and embedded brokers. What shares it, what a
//! fault takes down, and what that may cost, computed by hand.

use std::collections::BTreeSet;

use tandem::chaos::{Brokers, Sight, Step, brief, experiment};
use tandem::ids::{GroupName, MemberId, PartitionId};
use tandem::time::Span;
use tandem::topology::{Page, Plan, plan};
use tandem::verdict::Limits;

/// The members of `p1` and their broker share a machine with those of `p2`; `p3` has its broker on
/// a third one.
const TEXT: &str = "
version: 1
name: t
roles: [r, s, t]
clusters: {a: {embedded: {host: alpha}}, b: embedded, c: {embedded: {host: gamma}}}
groups:
  p1: {cluster: a, host: alpha}
  p2: {cluster: b, host: alpha}
  p3: {cluster: c, host: beta}
";

fn read(text: &str) -> Plan {
    plan(text, &[]).unwrap()
}

fn step(fault: &str) -> Step {
    let text = format!("version: 1\nname: x\nmethod:\n  - {{{fault}}}\n");
    experiment(&text).unwrap().0.method.remove(0)
}

fn names<T: ToString>(all: impl IntoIterator<Item = T>) -> Vec<String> {
    all.into_iter().map(|it| it.to_string()).collect()
}

#[test]
fn an_embedded_cluster_may_say_where_it_stands() {
    let read = read(TEXT);
    let hosts = read.clusters.values().map(|it| it.host.as_ref().map(ToString::to_string));
    assert_eq!(hosts.collect::<Vec<_>>(), [Some("alpha".into()), None, Some("gamma".into())]);
    let page = Page(&read).to_string();
    let line = "  a: embedded, a process of its own, host alpha (declared, not verified);";
    assert!(page.contains(line), "{page}");
    let json = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), read);
    let silent = TEXT.replace("{host: alpha}}", "{}}").replace("{host: gamma}}", "{}}");
    let words = TEXT.replace("{embedded: {host: alpha}}", "embedded");
    let words = words.replace("{embedded: {host: gamma}}", "embedded");
    assert_eq!(plan(&silent, &[]).unwrap(), plan(&words, &[]).unwrap());
}

#[test]
fn groups_on_one_machine_share_it() {
    let of_host = |text: &str| {
        let warnings = read(text).warnings.into_iter();
        warnings.filter(|it| it.contains("share host")).collect::<Vec<_>>()
    };
    let warning = "`p1` and `p2` share host `alpha`, with the broker of cluster `a`: one fault can \
                hit them all (`disjoint: [host]` refuses this)";
    assert_eq!(of_host(TEXT), [warning]);
    // By its broker alone.
    let there = TEXT.replace("gamma", "alpha");
    let three = "`p1`, `p2` and `p3` share host `alpha`, with the broker of cluster `a` and of \
                 cluster `c`";
    assert!(of_host(&there)[0].starts_with(three));
    // To share the broker says it.
    let one = TEXT.replace("cluster: b, host: alpha", "cluster: c");
    assert_eq!(of_host(&one), [""; 0]);
}

/// The members and clusters that a step hits on this plan, if all are running.
fn taken(plan: &Plan, step: &Step, seed: u64) -> (Vec<String>, Vec<String>) {
    let target = step.target.as_ref().unwrap();
    let living = |group: &GroupName| plan.groups[group].members.clone();
    let no_leaders = |_: &GroupName, _: PartitionId| Vec::<MemberId>::new();
    let members =
        target.resolve(Sight { plan, leaders: &no_leaders, living: &living }, seed).unwrap();
    let brokers = match target.brokers(plan, seed) {
        Some(Brokers::OnHost(host)) => names(plan.clusters_on(&host)),
        None => Vec::new(),
        other => panic!("{other:?}"),
    };
    (names(members), brokers)
}

#[test]
fn a_machine_takes_all_that_bears_its_label() {
    let plan = read(TEXT);
    let two = ["p1-1", "p1-2", "p1-3", "p2-1", "p2-2", "p2-3"];
    for fault in ["fault: host", "fault: kill", "fault: pause, for: 1s"] {
        let of = |host: &str| taken(&plan, &step(&format!("{fault}, target: {{host: {host}}}")), 7);
        assert_eq!(of("alpha"), (names(two), names(["a"])), "{fault}");
        assert_eq!(of("beta"), (names(["p3-1", "p3-2", "p3-3"]), Vec::new()), "{fault}");
        assert_eq!(of("gamma"), (Vec::new(), names(["c"])), "{fault}");
    }
    let any = step("fault: host, target: {host: any}");
    let ever: BTreeSet<_> = (0..50).map(|seed| taken(&plan, &any, seed)).collect();
    assert_eq!(ever.len(), 3, "whichever it is, its members and its brokers: {ever:?}");
    let target = any.target.unwrap();
    let groups = |all: &[&str]| all.iter().map(|it| it.parse::<GroupName>().unwrap()).collect();
    assert_eq!(target.choices(&plan), [groups(&["p1", "p2"]), groups(&["p3"])].into());
}

#[test]
fn faults_for_members_hit_only_members() {
    let plan = read(TEXT);
    for fault in ["leave", "stop", "partition, for: 1s", "clock, ahead: 1s, for: 1s"] {
        let step = step(&format!("fault: {fault}, target: {{host: alpha}}"));
        assert_eq!(taken(&plan, &step, 7).1, names([""; 0]), "{fault}");
        let groups = step.target.unwrap().groups(&plan);
        assert_eq!(names(groups), ["p1", "p2"], "{fault}");
    }
}

/// Gap and overlap in ms of each group and of all together.
fn limits(text: &str, step: &str) -> Vec<(Option<u128>, Option<u128>)> {
    let text_of_step = format!("version: 1\nname: x\nmethod:\n  - {{{step}}}\n");
    let (experiment, _) = experiment(&text_of_step).unwrap();
    let brief = brief(&experiment, &read(text).with_longest_pause(experiment.longest_pause()));
    let ms = |limit: Option<Span>| limit.map(|limit| limit.get().as_millis());
    let of = |limits: &Limits| (ms(limits.gap), ms(limits.overlap));
    brief.limits.values().chain([&brief.joint]).map(of).collect()
}

/// Of 1s sessions: B + F = 240, a takeover 1255, `T` 3000, a statement 120; a search takes 1000,
/// a process 1000.
#[test]
fn the_cost_of_a_machine_is_that_of_its_members_and_brokers() {
    let (none, known) = ((Some(0), Some(0)), |gap, overlap| (Some(gap), Some(overlap)));
    // Members are back after 2s, a broker after 5s and a start-up of 500.
    let alpha = limits(TEXT, "fault: host, target: {host: alpha}");
    // Who looked for the broker finds it within a second, and three join; what moves lasts for T.
    let both = known(5_000 + 500 + 1_000 + 3 * 240, 3_000 + 240 + 1_500);
    // What moves to the first that is back, and on to the next, is handed over.
    let members = known(2_000 + 1_000 + 1_255, 2 * 120);
    assert_eq!(alpha, [both, members, none, (Some(0), Some(4_740 + 240))]);
    // Its members live elsewhere, and believe on for T.
    let broker = known(5_000 + 500 + 240 + 120 - 3_000, 3_000 + 240 + 300);
    let gamma = limits(TEXT, "fault: kill, target: {host: gamma}");
    assert_eq!(gamma, [none, none, broker, (Some(0), broker.1)]);
    // As where the broker is struck by itself.
    assert_eq!(gamma, limits(TEXT, "fault: broker, target: {cluster: c}"));
    assert_eq!(limits(TEXT, "fault: host, target: {host: beta}")[2], members);
    // The members are the last to be back.
    let late = TEXT.replace("p1: {", "p1: {restart: {after: 10s}, ");
    let late = limits(&late, "fault: host, target: {host: alpha}");
    assert_eq!(late[0].0, Some(10_000 + 1_000 + 3 * 240));
    let together = limits(TEXT, "fault: host, restart_after: 10s, target: {host: alpha}");
    assert_eq!(together[0].0, Some(10_000 + 1_500 + 3 * 240));
    // All of it hangs on one machine.
    let all = TEXT.replace("beta", "alpha").replace("gamma", "alpha");
    let all = limits(&all, "fault: host, target: {host: any}");
    assert_eq!(all[3].0, Some(4_255), "the least that any group is away");
}

#[test]
fn the_cost_of_a_paused_machine_is_known_for_members_and_brokers() {
    let alpha = limits(TEXT, "fault: pause, for: 8s, target: {host: alpha}");
    assert_eq!(alpha[0], (None, None), "not of both");
    assert_eq!(alpha[1].0, Some(8_000 + 1_255));
    let gamma = limits(TEXT, "fault: pause, for: 8s, target: {host: gamma}");
    let broker = limits(TEXT, "fault: broker, how: pause, for: 8s, target: {cluster: c}");
    assert_eq!(gamma, broker);
}
