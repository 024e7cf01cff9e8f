//! Every election in full counts, several side by side over the same roles: twenty leaders of each
//! are killed at once, or cut off at once. `tests/measure NAME` runs them; what each cost is also
//! in `benches/elections/README.md`.

use support::elections::{experiment, on, topology};
use support::series::{Series, shown};
use support::three_stores::ThreeStores;
use tandem::ids::GroupName;
use tandem::neli::elections::among::Among;
use tandem::timeline::{Finding, Findings};

/// Trials of each kind; each hits one leader in each group.
const TRIALS: u32 = 20;
const KILL: &str = "fault: kill";
const CUT_OFF: &str = "fault: partition\n    for: 3s";
/// The modes of NELI, and its groups of the newer protocol.
const MODES: [(&str, &str); 6] = [
    ("non-exclusive", ""),
    ("exclusive", ", mode: exclusive"),
    ("paper", ", mode: exclusive-paper"),
    ("fast", ", mode: fast"),
    ("stand-in", ", on_death: stand-in, session: 10s, heartbeat: 100ms"),
    ("newer", ", protocol: consumer"),
];

/// Does this to a leader in each of these groups, and writes down what it cost each.
fn each(name: &'static str, step: &str, clusters: &str, groups: &[(&str, String)]) {
    let names: Vec<&str> = groups.iter().map(|(name, _)| *name).collect();
    let (topology, text) = (topology(clusters, groups), experiment(name, step, &names));
    let mut series = Series::of(name, TRIALS, || on(&topology, &text));
    series.claim_no_joint_gap();
    let cost = |group: &&str| {
        let group: GroupName = group.parse().unwrap();
        let of = |kind: fn(&Findings) -> &Vec<Finding>| {
            shown(&series.spans(|run| kind(&run.groups[&group].findings).iter().collect()))
        };
        format!("{group}: gaps {}, overlaps {}", of(|it| &it.gaps), of(|it| &it.overlaps))
    };
    let measured: Vec<_> = names.iter().map(cost).collect();
    series.conclude(&measured.join("; "));
}

/// The elections among the members themselves.
fn among(name: &'static str, step: &str) {
    let group = |by: &Among| (by.as_str(), format!("election: {}", by.as_str()));
    each(name, step, "", &Among::ALL.iter().map(group).collect::<Vec<_>>());
}

fn modes(name: &'static str, step: &str) {
    each(name, step, "", &MODES.map(|(mode, settings)| (mode, format!("cluster: a{settings}"))));
}

#[test]
#[ignore = "takes five minutes: tests/measure among-kill"]
fn among_kill() {
    among("among-kill", KILL);
}

#[test]
#[ignore = "takes five minutes: tests/measure among-cut-off"]
fn among_cut_off() {
    among("among-cut-off", CUT_OFF);
}

#[test]
#[ignore = "takes five minutes: tests/measure modes-kill"]
fn modes_kill() {
    modes("modes-kill", KILL);
}

#[test]
#[ignore = "takes five minutes: tests/measure modes-cut-off"]
fn modes_cut_off() {
    modes("modes-cut-off", CUT_OFF);
}

/// Over one server each: `zookeeper-isolate` and `etcd-isolate` cut leaders off from them.
#[test]
#[ignore = "takes five minutes: tests/measure stores-kill"]
fn stores_kill() {
    let stores = ThreeStores::up();
    each("stores-kill", KILL, &stores.clusters(), &ThreeStores::groups());
}
