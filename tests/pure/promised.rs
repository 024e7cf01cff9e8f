//! What an exclusive group promises is judged without an assertion, by one rule for all elections.

use support::facts::{Story, at, brief, name, plan};
use tandem::ids::GroupName;
use tandem::observation::{ClockDomain, External, RunEvent};
use tandem::time::Span;
use tandem::topology::{Mode, Page, Plan, plan as read};
use tandem::verdict::{Limits, Report, Verdict, render};

/// From when to when the second member claims beside the first.
const BESIDE: [u64; 2] = [3_000, 3_040];

/// Two members of `p1` claim one role for 40 ms. Their clocks are compared to within `errors`.
fn two_leaders(mode: Mode, errors: [u64; 2]) -> (Plan, Story) {
    let mut plan = plan(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    plan.groups.values_mut().for_each(|group| group.pace.mode = Mode::NonExclusive);
    plan.groups.get_mut("p1").unwrap().pace.mode = mode;
    let mut story = Story::default();
    for (who, error) in ["p1-1.1", "p1-2.1"].into_iter().zip(errors) {
        let clock = ClockDomain { boot: who.to_owned(), time_namespace: 4 };
        let error_ns = Some(error * 1_000_000);
        let external = External { group: name("p1"), clock, same_clock: error == 0, error_ns };
        story.of(who, 10, RunEvent::Started { pid: 1, external: Some(external) });
    }
    story.started("p2-1.1", 10).settled("p1", 400).settled("p2", 400);
    story.serves("p1-1.1", 0, 1, [100, 9_400]).serves("p2-1.1", 0, 1, [100, 9_400]);
    story.claimed("p1-2.1", 0, 1, BESIDE);
    story.lapsed("p1-2.1", BESIDE[1], (0, 1), BESIDE[1]);
    story.began(500, 1).ended(9_000, 1).completed(9_500);
    (plan, story)
}

/// The report, where faults excuse an overlap of this length in `p1`.
fn report(mode: Mode, errors: [u64; 2], excused: Option<u64>) -> Report {
    let (plan, story) = two_leaders(mode, errors);
    let mut brief = brief(&plan, 1, &[]);
    let overlap = excused.map(Span::ms);
    brief.limits.insert(name("p1"), Limits { gap: Some(Span::ms(1_300)), overlap });
    Report::compute(&plan, &brief, 42, at(10), &story.facts)
}

/// The outcome of the ruling on the promise.
fn ruled(report: &Report) -> Option<Verdict> {
    let of = |text: &str| text.starts_with("one leader at most");
    let rulings: Vec<_> = report.objective.iter().filter(|it| of(&it.text)).collect();
    assert!(rulings.len() < 2, "{rulings:?}");
    rulings.first().map(|ruling| {
        assert_eq!(ruling.group.as_ref().map(GroupName::as_str), Some("p1"));
        ruling.outcome
    })
}

#[test]
fn two_leaders_fail_the_run_of_an_exclusive_election_alone() {
    for mode in Mode::ALL {
        let report = report(mode, [0, 0], Some(0));
        let expected = mode.forbids_overlap().then_some(Verdict::Fail);
        assert_eq!(ruled(&report), expected, "{mode:?}");
        assert_eq!(report.verdict, expected.unwrap_or(Verdict::Pass), "{:?}", report.reasons);
        let p1 = &report.groups["p1"];
        assert_eq!(p1.exclusive, mode.forbids_overlap(), "{mode:?}");
        assert!(!report.groups["p2"].exclusive);
    }
    let report = report(Mode::Exclusive, [0, 0], Some(0));
    let why = "Group p1 had two leaders of a role for up to 40 ms: its election promises one, and \
               broke its promise.";
    assert_eq!(report.reasons, [why]);
    let text = render(&report, "out", false);
    let line = "exclusive  one leader of a role at most in p1   no such promise in p2\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn an_overlap_within_the_error_of_clocks_is_unknown_and_one_beyond_it_fails() {
    for (errors, expected) in [
        ([0, 0], Verdict::Fail),
        ([0, 19], Verdict::Fail),
        ([0, 21], Verdict::Unknown),
        ([60, 60], Verdict::Unknown),
    ] {
        let report = report(Mode::Exclusive, errors, Some(0));
        assert_eq!(ruled(&report), Some(expected), "{errors:?}: {:?}", report.reasons);
    }
}

#[test]
fn only_a_stated_limit_of_a_fault_excuses_two_leaders() {
    for (excused, expected) in [
        (Some(0), Verdict::Fail),
        (Some(39), Verdict::Fail),
        // Excused; but of the second member, which falls silent, nothing more is known.
        (Some(40), Verdict::Unknown),
        // A command of the user, of which nothing is known, excuses nothing.
        (None, Verdict::Fail),
    ] {
        let report = report(Mode::Exclusive, [0, 0], excused);
        assert_eq!(ruled(&report), Some(expected), "{excused:?}: {:?}", report.reasons);
    }
}

#[test]
fn a_report_of_before_is_read() {
    let report = report(Mode::Exclusive, [0, 0], Some(0));
    let mut json = serde_json::to_value(&report).unwrap();
    for group in json["groups"].as_object_mut().unwrap().values_mut() {
        assert!(group.as_object_mut().unwrap().remove("exclusive").is_some());
    }
    let before: Report = serde_json::from_value(json).unwrap();
    assert!(!before.groups["p1"].exclusive);
    // The plan in a journal names the mode, so a journal of before is judged by its promise, too.
    let (plan, _) = two_leaders(Mode::Exclusive, [0, 0]);
    let json = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["groups"]["p1"]["pace"]["mode"], "exclusive");
}

#[test]
fn a_plan_says_which_groups_promise_one_leader() {
    let text = std::fs::read_to_string("topologies/mixed.yaml").unwrap();
    for (election, exclusive) in
        [("generation", true), ("quorum-lease", true), ("bully", false), ("zab", false)]
    {
        let set = format!("groups.p2.election={election}").parse().unwrap();
        let plan = read(&text, &[set]).unwrap();
        let page = Page(&plan).to_string();
        let others: Vec<&str> =
            plan.groups.keys().map(GroupName::as_str).filter(|name| *name != "p2").collect();
        let line = format!(
            "  at most one leader of each role in p2: two fail the run; no such promise in {}\n",
            others.join(", ")
        );
        assert_eq!(page.contains(&line), exclusive, "{page}");
        assert_eq!(page.contains("at most one leader of each role"), exclusive, "{page}");
    }
}
