//! `junit.xml`: one case a ruling and group, nothing green that is not, and a form that CI servers
//! read.
//!
//! Its form is checked here by its structure, and by xmllint against `junit-10.xsd` of Jenkins'
//! xunit plugin. That is not copied here: the sources of pytest have it, and pip fetches them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use support::experiment::{output, tandem};
use support::facts::{Story, at, brief, plan};
use support::python::{environment, pip};
use support::recorded::{kills, record};
use tandem::observation::{MemberEvent, Outcome, RunEvent, What};
use tandem::time::{Span, Wall};
use tandem::verdict::{JunitRun, JunitSuite, Report, Verdict, junit};

const CLAIMS: [&str; 3] =
    ["group.gap.max <= 1s", "joint.gap.count == 0", "group.p2.overlap.max < 1ms"];

fn report(story: &Story) -> Report {
    let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 2)]);
    let mut brief = brief(&plan, 2, &CLAIMS);
    brief.objective.joint_gap = Some(Span::ms(0));
    Report::compute(&plan, &brief, 42, at(10), &story.facts)
}

fn document(report: &Report) -> String {
    let (began, lasted) = (Wall(1_795_000_000_000), Duration::from_millis(31_250));
    let run = JunitRun { report, run: "kill-leader-1", began, lasted, trouble: None };
    junit("tests", &[JunitSuite::Judged(run)]).unwrap()
}

/// Everything of one kind of element: its attributes and, where it has any, what is in it.
fn elements<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let open = format!("<{kind} ");
    text.split(open.as_str())
        .skip(1)
        .map(|rest| match rest.split_once('>') {
            Some((attributes, _)) if attributes.ends_with('/') => attributes,
            _ => rest.split(&format!("</{kind}>")).next().unwrap(),
        })
        .collect()
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let tag = element.split('>').next().unwrap();
    let from = tag.split(&format!("{name}=\"")).nth(1);
    from.unwrap_or_else(|| panic!("no {name} in {tag}")).split('"').next().unwrap()
}

/// What every reader relies on: the counts are those of the cases, every case has what it needs.
fn well_formed(text: &str) {
    assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "), "{text}");
    assert!(!text.contains("disabled"), "{text}");
    let number = |element: &str, name: &str| attribute(element, name).parse::<usize>().unwrap();
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for suite in elements(text, "testsuite") {
        let cases = elements(suite, "testcase");
        let having =
            |kind: &str| cases.iter().filter(|case| !elements(case, kind).is_empty()).count();
        assert_eq!(number(suite, "tests"), cases.len());
        assert_eq!(number(suite, "failures"), having("failure"));
        assert_eq!(number(suite, "errors"), having("error"));
        assert_eq!(attribute(suite, "timestamp").len(), "2026-11-18T12:26:40".len());
        assert!(attribute(suite, "time").parse::<f64>().unwrap() > 0.0);
        for case in &cases {
            assert!(
                !attribute(case, "name").is_empty() && !attribute(case, "classname").is_empty()
            );
            assert!(attribute(case, "time").parse::<f64>().unwrap() >= 0.0);
            for kind in ["failure", "error"] {
                for element in elements(case, kind) {
                    assert!(!attribute(element, "message").is_empty());
                    assert!(["fail", "unknown"].contains(&attribute(element, "type")));
                }
            }
        }
        tests += cases.len();
        failures += having("failure");
        errors += having("error");
    }
    let all = elements(text, "testsuites")[0];
    let counts = ["tests", "failures", "errors"].map(|name| number(all, name));
    assert_eq!(counts, [tests, failures, errors]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("junit.xml");
    fs::write(&file, text).unwrap();
    let mut check = Command::new("xmllint");
    let done = check.args(["--noout", "--schema"]).arg(schema()).arg(&file).output();
    let done = done.expect("missing: xmllint; tests/all --install installs it");
    assert!(done.status.success(), "{}\n{text}", String::from_utf8_lossy(&done.stderr));
}

/// The version of pytest whose sources have the schema.
const PYTEST: &str = "8.3.4";

/// Where the schema is, which is fetched once.
fn schema() -> PathBuf {
    static FETCH: Mutex<()> = Mutex::new(());
    let _one_at_a_time = FETCH.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pytest-{PYTEST}"));
    let schema = folder.join("testing/example_scripts/junit-10.xsd");
    if !schema.exists() {
        let run = |command: &mut Command| {
            let done = output(command);
            assert!(
                done.status.success(),
                "{command:?}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
        };
        let mut fetch = pip(&environment("python", &[]), "download");
        fetch.args(["--no-deps", "--no-binary", "pytest", "--dest"]).arg(&folder);
        run(fetch.arg(format!("pytest=={PYTEST}")));
        let archive = folder.join(format!("pytest-{PYTEST}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(archive).arg("-C").arg(&folder).arg("--strip-components=1");
        run(tar.arg(format!("pytest-{PYTEST}/testing/example_scripts/junit-10.xsd")));
    }
    schema
}

fn cases(text: &str) -> Vec<String> {
    let outcome = |case: &str| {
        let of = |kind| !elements(case, kind).is_empty();
        match (of("failure"), of("error")) {
            (true, false) => "failure",
            (false, true) => "error",
            (false, false) => "pass",
            (true, true) => "both",
        }
    };
    elements(text, "testcase")
        .iter()
        .map(|case| {
            let class = attribute(case, "classname").rsplit('.').next().unwrap();
            let name = attribute(case, "name").replace("&lt;", "<").replace("&gt;", ">");
            format!("{class}: {name}: {}", outcome(case))
        })
        .collect()
}

#[test]
fn there_is_one_case_a_ruling_and_group_and_one_for_the_run() {
    let report = report(&kills(&[900, 950]));
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.reasons);
    let text = document(&report);
    well_formed(&text);
    assert_eq!(
        cases(&text),
        [
            "run: the run: pass",
            "objective: joint_gap <= 0s: pass",
            "objective: leaders_per_group >= 1 outside of faults [p1]: pass",
            "objective: leaders_per_group >= 1 outside of faults [p2]: pass",
            "objective: trials recovered >= 2: pass",
            "assertion: group.gap.max <= 1s [p1]: pass",
            "assertion: group.gap.max <= 1s [p2]: pass",
            "assertion: joint.gap.count == 0: pass",
            "assertion: group.p2.overlap.max < 1ms [p2]: pass",
        ]
    );
    for property in [
        "name=\"seed\" value=\"42\"",
        "name=\"run\" value=\"kill-leader-1\"",
        "name=\"topology\" value=\"pricing\"",
        "name=\"verdict\" value=\"pass\"",
    ] {
        assert!(text.contains(property), "{property}\n{text}");
    }
    assert_eq!(attribute(elements(&text, "testsuite")[0], "time"), "31.250");
}

#[test]
fn a_failed_run_is_a_failure_and_an_unknown_one_an_error() {
    let failed = report(&kills(&[900, 1_500]));
    let text = document(&failed);
    well_formed(&text);
    assert!(cases(&text).contains(&"assertion: group.gap.max <= 1s [p1]: failure".to_owned()));
    assert!(text.contains("Group p1 broke group.gap.max &lt;= 1s."), "{text}");

    let mut blind = kills(&[900, 950]);
    let (from, until) = (at(14_000), at(14_500));
    blind.says("p2-1.1", 30_100, MemberEvent::Hole { from, until });
    let text = document(&report(&blind));
    well_formed(&text);
    assert!(cases(&text).contains(&"assertion: group.gap.max <= 1s [p2]: error".to_owned()));

    // Nothing is wrong with any ruling, and the run is unknown all the same.
    let mut ended = kills(&[900, 950]);
    let (how, why) = (Outcome::Broken, Some("a \"cause\" with <marks> & more".to_owned()));
    for fact in &mut ended.facts {
        if let What::Run(RunEvent::Ended { .. }) = fact.what {
            fact.what = What::Run(RunEvent::Ended { how, why: why.clone() });
        }
    }
    let broken = report(&ended);
    assert_eq!(broken.verdict, Verdict::Unknown);
    let text = document(&broken);
    well_formed(&text);
    let cases = cases(&text);
    assert_eq!(cases.iter().filter(|case| !case.ends_with(": pass")).count(), 1, "{cases:?}");
    assert!(cases.contains(&"run: the run: error".to_owned()), "{cases:?}");
}

#[test]
fn several_runs_are_one_document() {
    let reports = [report(&kills(&[900, 950])), report(&kills(&[900, 1_500]))];
    let runs = reports.iter().zip(["first", "second"]).map(|(report, run)| {
        let (began, lasted) = (Wall(1_795_000_000_000), Duration::from_secs(30));
        JunitSuite::Judged(JunitRun { report, run, began, lasted, trouble: None })
    });
    let text = junit("suite", &runs.collect::<Vec<_>>()).unwrap();
    well_formed(&text);
    assert_eq!(elements(&text, "testsuite").len(), 2);
    assert_eq!(attribute(elements(&text, "testsuites")[0], "time"), "60.000");
}

#[test]
fn runs_without_a_report_are_included() {
    let report = report(&kills(&[900, 950]));
    let (began, lasted) = (Wall(1_795_000_000_000), Duration::from_secs(30));
    let trouble = Some("It was killed.");
    let suites = [
        JunitSuite::Judged(JunitRun { report: &report, run: "first", began, lasted, trouble }),
        JunitSuite::Unjudged { name: "far", why: "no <answer>", skipped: false },
        JunitSuite::Unjudged { name: "far", why: "no <answer>", skipped: true },
    ];
    let text = junit("suite", &suites).unwrap();
    let of_run: Vec<_> = cases(&text).into_iter().filter(|case| case.starts_with("run:")).collect();
    assert_eq!(of_run, ["run: the run: error", "run: the run: error", "run: the run: pass"]);
    let suites = elements(&text, "testsuite");
    let message = |suite: &str, kind| attribute(elements(suite, kind)[0], "message").to_owned();
    assert_eq!(message(suites[0], "error"), "It was killed.");
    assert_eq!(message(suites[1], "error"), "no &lt;answer&gt;");
    assert_eq!(message(suites[2], "skipped"), "no &lt;answer&gt;");
    assert_eq!(attribute(suites[2], "name"), "far");
    assert_eq!(attribute(elements(&text, "testsuites")[0], "errors"), "2");
}

#[test]
fn it_stands_beside_the_result_and_where_it_is_wanted() {
    let home = tempfile::tempdir().unwrap();
    let folder: PathBuf = home.path().join("run");
    let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 2)]);
    record(&folder, &plan, &brief(&plan, 2, &CLAIMS), &kills(&[900, 950]).facts);
    let wanted = home.path().join("wanted.xml");
    let mut command = tandem(home.path());
    let done = output(command.arg("report").arg(&folder).arg("--junit").arg(&wanted));
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(text(&wanted), text(&folder.join("junit.xml")));
    well_formed(&text(&wanted));
}

#[test]
fn a_file_that_cannot_be_written_keeps_nothing_else_from_it() {
    let home = tempfile::tempdir().unwrap();
    for (name, gaps, code) in [("passed", [900, 950], 1), ("failed", [900, 1_500], 3)] {
        let folder: PathBuf = home.path().join(name);
        let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 2)]);
        record(&folder, &plan, &brief(&plan, 2, &CLAIMS), &kills(&gaps).facts);
        // What stands in their way.
        for file in ["report.html.new", "result.json.new"] {
            fs::create_dir(folder.join(file)).unwrap();
        }
        let done = output(tandem(home.path()).arg("report").arg(&folder));
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{said}");
        let verdict = if code == 1 { "PASS" } else { "FAIL" };
        assert!(
            String::from_utf8_lossy(&done.stdout).starts_with(verdict),
            "the verdict is printed"
        );
        let lines: Vec<_> = said.lines().collect();
        let [result, page] = lines.as_slice() else { panic!("{said}") };
        assert!(result.contains("result.json: ") && page.contains("report.html: "), "{said}");
        well_formed(&fs::read_to_string(folder.join("junit.xml")).unwrap());
        assert!(folder.join("traces.otlp.json").exists());
    }
}
