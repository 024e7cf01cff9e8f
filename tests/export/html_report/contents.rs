//! What is in a page: everything that was found, with the numbers of the report, and nothing that
//! a browser would have to load.

use std::collections::BTreeMap;

use tandem::html_report::Room;
use tandem::ids::TrialNumber;
use tandem::observation::RunEvent;
use tandem::time::Span;
use tandem::timeline::{Finding, Findings};
use tandem::verdict::{Distribution, Disturbed, Report, Samples};

use crate::html_report::large::{BLIND, Large, THOUSAND, TWIN};
use crate::html_report::made::{Fixture, Row, data, row, rows};
use support::facts::{Story, at};

pub const SMALL: Large = Large { roles: 6, partitions: 4, groups: 2, members: 3, trials: 6 };

/// A page names what it loads in these places alone.
fn loads(page: &str) -> Vec<&str> {
    let places = ["src=\"", "href=\"", "url(", "@import", "action=\"", "srcset=\"", "poster=\""];
    let named = places.iter().flat_map(|place| page.split(place).skip(1));
    named.map(|rest| rest.split(['"', ')']).next().unwrap()).collect()
}

#[test]
fn a_page_loads_nothing_and_its_policy_says_so() {
    let page = SMALL.fixture().page();
    for named in loads(&page) {
        assert!(named.starts_with('#') || named == "data:,", "it would load {named}");
    }
    for word in ["http://", "https://", "fetch(", "XMLHttpRequest", "WebSocket", "import("] {
        assert!(!page.contains(word), "{word} is in it");
    }
    let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(policy.matches("'sha256-").count(), 2, "{policy}");
    assert!(!page.contains(" style=\"") && !page.contains(" onclick"), "the policy forbids these");
}

/// Those of one kind.
type Kind = fn(&Findings) -> &Vec<Finding>;

/// The findings of a timeline by group and partition, once a lane.
fn lanes(fixture: &Fixture, of: Kind) -> BTreeMap<(usize, u32), Vec<Row>> {
    let mut lanes: BTreeMap<_, Vec<Row>> = BTreeMap::new();
    for (place, (name, line)) in fixture.timeline.groups.iter().enumerate() {
        for one in of(&line.findings) {
            let on = fixture.plan.groups[name].partition(one.roles.first);
            lanes.entry((place, on.0)).or_default().push(row(one, fixture.zero));
        }
    }
    lanes.values_mut().for_each(|lane| lane.sort_unstable());
    lanes
}

/// How many roles share a lane: the last of the three numbers that say which.
fn role_count(fold: &serde_json::Value) -> usize {
    usize::try_from(fold["roles"][2].as_u64().unwrap()).unwrap()
}

/// Every finding of the timeline is in the data of the page, with equal numbers.
pub fn holds_all(fixture: &Fixture, page: &str) {
    let data = data(page);
    let kinds: [(&str, Kind); 2] = [("g", |found| &found.gaps), ("o", |found| &found.overlaps)];
    for (key, of) in kinds {
        for ((group, on), found) in lanes(fixture, of) {
            let shown = rows(&data["groups"][group]["lanes"][on.to_string()][key]);
            assert_eq!(shown, found, "{key} of group {group} on partition {on}");
        }
    }
    let joint: usize = data["folds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fold| role_count(fold) * rows(&fold["g"]).len())
        .sum();
    assert_eq!(joint as u64, fixture.report.joint.gap.count, "joint gaps, a role each");
    counts_fit(&fixture.report, &data);
}

/// The data's gaps have the distribution that the report states, which leaves out those of
/// disturbed trials.
pub fn counts_fit(report: &Report, data: &serde_json::Value) {
    let disturbed = report.disturbed.iter().flat_map(|of| &of.trials);
    let disturbed: Vec<u64> = disturbed.map(|one| one.trial.0.into()).collect();
    for (place, (name, group)) in report.groups.iter().enumerate() {
        let mut lengths = Vec::new();
        for fold in data["folds"].as_array().unwrap() {
            let on = fold["on"][place].to_string();
            let found = rows(&data["groups"][place]["lanes"][on]["g"]);
            for _role in 0..role_count(fold) {
                let counted = found.iter().filter(|row| !disturbed.contains(&row.3));
                lengths.extend(counted.map(|row| std::time::Duration::from_nanos(row.1)));
            }
        }
        let all: Distribution = lengths.into_iter().collect::<Samples>().distribution();
        let measures: Vec<_> = group.by_cause().map(|(_, of)| of.gap).collect();
        let count: u64 = measures.iter().map(|one| one.count).sum();
        assert_eq!(all.count, count, "gaps of {name}");
        let most = measures.iter().filter_map(|one| one.max_ms).reduce(f64::max);
        let least = measures.iter().filter_map(|one| one.min_ms).reduce(f64::min);
        assert_eq!((all.min_ms, all.max_ms), (least, most), "gaps of {name}");
    }
}

#[test]
fn every_finding_is_in_the_page_with_the_numbers_of_the_report() {
    let fixture = SMALL.fixture();
    let gaps: Vec<u64> =
        fixture.report.groups.values().map(|group| group.fault.gap.count).collect();
    assert!(gaps.iter().all(|count| *count > 0), "there is something to show: {gaps:?}");
    assert!(fixture.report.joint.gap.count > 0, "trial {TWIN} hits all groups");
    assert!(fixture.report.unknown_ms > 0.0, "in trial {BLIND} a member is not heard");
    let page = fixture.page();
    holds_all(&fixture, &page);
    for worst in &fixture.report.worst {
        assert!(page.contains(&format!("{:.3} ms, known to within", worst.duration_ms)));
    }
    for reason in &fixture.report.reasons {
        assert!(page.contains(&reason.replace('>', "&gt;").replace('<', "&lt;")), "{reason}");
    }
}

#[test]
fn a_thousand_roles_fit_a_page_that_folds_them() {
    let fixture = THOUSAND.fixture();
    let page = fixture.page();
    assert!(page.len() <= 10_000_000, "{} bytes", page.len());
    let data = data(&page);
    assert_eq!(data["folds"].as_array().unwrap().len(), 64, "roles of one partition share a lane");
    assert!(page.contains("1000 roles on 64 lanes"), "it says so");
    holds_all(&fixture, &page);
}

#[test]
fn thinning_is_reported_and_never_drops_a_violation() {
    let fixture = SMALL.fixture();
    let services = fixture.page_within(Room { services: 10, ..Room::default() });
    holds_all(&fixture, &services);
    assert!(services.contains("Service is not drawn"), "it says what is left out");
    assert!(data(&services)["groups"][0]["lanes"]["0"]["s"].as_array().unwrap().is_empty());

    let few = fixture.page_within(Room { findings: 30, ..Room::default() });
    let data = data(&few);
    let shown: Vec<_> = data["trials"].as_array().unwrap().iter().filter(|it| it[3] == 1).collect();
    assert!(!shown.is_empty() && shown.len() < 6, "some trials are left out");
    assert!(few.contains(&format!("The lanes show {} of 6 trials", shown.len())), "it says so");
    assert!(shown.iter().any(|trial| trial[0] == TWIN), "that with a joint gap is shown");
    let joint: usize =
        data["folds"].as_array().unwrap().iter().map(|fold| rows(&fold["g"]).len()).sum();
    assert_eq!(joint, 1, "its joint gap: each victim led one lane");
}

/// A run with one gap, on a host that stalled twice while it lasted, and once before.
pub fn stalled() -> Fixture {
    let plan = support::facts::plan(2, &[("p1", 1, 2)]);
    let brief = support::facts::brief(&plan, 1, &[]);
    let mut story = Story::default();
    story.started("p1-1.1", 20).assigned("p1-1.1", 25, &[0]);
    story.serves("p1-1.1", 0, 1, [30, 12_000]).serves("p1-1.1", 0, 2, [13_000, 21_000]);
    let stall = |[from, until]: [u64; 2]| RunEvent::Stall {
        from: at(from),
        until: at(until),
        waited_ns: None,
    };
    story.run(600, stall([500, 600])).began(1_000, 1);
    story.run(5_200, stall([5_000, 5_200])).run(9_030, stall([9_000, 9_030]));
    story.ended(20_000, 1).completed(21_000);
    Fixture::new(plan, &brief, &story.facts)
}

#[test]
fn stalls_of_the_host_are_bands_behind_all_lanes() {
    let fixture = stalled();
    let page = fixture.page();
    let (long, short) = ([4_990_000_000_u64, 5_190_000_000], [8_990_000_000_u64, 9_020_000_000]);
    assert_eq!(data(&page)["stalls"], serde_json::json!([long, short]));
    let (_, still) = page.split_once("<div id=\"still\">").unwrap();
    let still = still.split_once("<h2").unwrap().0;
    // From the first trial's begin to its end there are 890 pixels.
    let x = |ms: f64| 100.0 + 890.0 * (ms - 1_000.0) / 19_000.0;
    let path = |class: &str| {
        let (_, rest) = still.split_once(&format!("<path class=\"{class}\" d=\"")).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let begins = [5_000.0, 9_000.0].map(|ms| format!("M{:.1} ", x(ms)));
    for class in ["stall", "stall-edge"] {
        let d = path(class);
        assert!(begins.iter().all(|begin| d.contains(begin)), "{class}: {begins:?} in {d}");
    }
    assert_eq!(path("stall").matches('M').count(), 2, "{}", path("stall"));
    assert_eq!(path("stall-edge").matches('M').count(), 4, "{}", path("stall-edge"));
    assert!(path("stall").contains(&format!("h{:.1}v", x(5_200.0) - x(5_000.0))), "to scale");
    assert!(page.contains("the host stalled:"), "the legend has them");

    let few = fixture.page_within(Room { stalls: 1, ..Room::default() });
    assert_eq!(data(&few)["stalls"], serde_json::json!([long]));
    assert!(few.contains("The lanes show the 1 longest of 2 stalls of the host"), "it says so");
    let calm = SMALL.fixture().page();
    assert!(!calm.contains("<path class=\"stall-edge\" d=\"M1"), "none where there was none");
}

#[test]
fn a_run_of_which_nothing_is_known_has_a_page_too() {
    let plan = support::facts::plan(2, &[("p1", 1, 2)]);
    let brief = support::facts::brief(&plan, 1, &[]);
    let page = Fixture::new(plan, &brief, &[]).page();
    assert!(page.contains("UNKNOWN") && page.contains("No trial was completed"));
    assert!(page.contains("No fault was injected."));
}

/// Two trials with a gap each; the host kept the canary from running in the second.
pub fn disturbed() -> Fixture {
    let plan = support::facts::plan(2, &[("p1", 1, 2)]);
    let mut brief = support::facts::brief(&plan, 2, &[]);
    brief.disturbed = Some(Disturbed { stall: Span::ms(250), replace: 0 });
    let mut story = Story::default();
    story.started("p1-1.1", 20).assigned("p1-1.1", 25, &[0]);
    story.serves("p1-1.1", 0, 1, [30, 5_000]).serves("p1-1.1", 0, 2, [5_500, 15_000]);
    story.serves("p1-1.1", 0, 3, [15_700, 21_000]);
    story.began(1_000, 1).ended(9_000, 1).began(11_000, 2);
    let (from, until) = (at(12_000), at(12_400));
    story.run(12_400, RunEvent::Stall { from, until, waited_ns: Some(400_000_000) });
    let (busy_ns, own_ns, stolen_ns) = (400_000_000, 0, 0);
    story.run(12_400, RunEvent::Processors { from, until, busy_ns, own_ns, stolen_ns });
    story.ended(20_000, 2).completed(21_000);
    Fixture::new(plan, &brief, &story.facts)
}

#[test]
fn what_only_the_end_of_a_fault_ends_is_unlimited() {
    let text = std::fs::read_to_string("topologies/mixed.yaml").unwrap();
    let text = text.replace("election: generation", "election: bully");
    let plan = tandem::topology::plan(&text, &[]).unwrap();
    let brief = support::facts::brief(&plan, 1, &[]);
    let page = Fixture::new(plan, &brief, &[]).page();
    assert!(page.contains("0 to unlimited"));
    assert!(!page.contains("31536000000"), "a year is not a bound");
}

#[test]
fn a_disturbed_trial_is_marked_in_the_lanes_and_in_the_distributions() {
    let fixture = disturbed();
    let found = fixture.report.disturbed.as_ref().unwrap();
    assert_eq!(found.trials.iter().map(|one| one.trial.0).collect::<Vec<_>>(), [2]);
    let page = fixture.page();
    let trials = data(&page)["trials"].clone();
    let off: Vec<_> = trials.as_array().unwrap().iter().map(|trial| trial[4].clone()).collect();
    assert_eq!(off, [0, 1]);
    assert!(
        page.contains("trial 2, disturbed by the host") && !page.contains("trial 1, disturbed")
    );
    assert!(page.contains("a trial that the host disturbed"), "the legend of the lanes");
    assert!(page.contains("A dashed diamond"), "the legend of the distributions");
    // Each gap counts for both roles; one pair counts, the other is set apart.
    assert!(page.contains("<path class=\"off\""));
    assert!(page.contains("2 samples: median 500\u{a0}ms"));
    assert!(page.contains("; 2 in disturbed trials, the longest 700\u{a0}ms"));

    let calm = stalled().page();
    let marks = ["class=\"off", "disturbed by the host", "A dashed diamond"];
    assert!(marks.iter().all(|mark| !calm.contains(mark)), "none where none was disturbed");
}

#[test]
fn a_run_of_which_every_trial_was_disturbed_says_so_first() {
    let Fixture { plan, timeline, zero, run, .. } = disturbed();
    let mut brief = support::facts::brief(&plan, 1, &[]);
    brief.disturbed = Some(Disturbed { stall: Span::ms(250), replace: 0 });
    let timeline = timeline.without(&[TrialNumber(1)].into(), |_| false);
    let report = Report::of(&plan, &brief, 42, zero, &timeline);
    let page = Fixture { plan, timeline, report, zero, run }.page();
    assert!(page.contains("No trial counts: the host disturbed each that was played."));
    assert!(!page.contains("no group had a gap") && !page.contains("No group had a gap"));
}
