//! `tandem compare`: it reports differences and nothing else, and too few trials show nothing.

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::experiment::{output, tandem};
use support::facts::{brief, name, plan};
use support::recorded::{kills, record};
use tempfile::TempDir;

/// Lengths as a seed might draw them, around a second.
fn lengths(count: u64, seed: u64, longer: u64) -> Vec<u64> {
    (0..count).map(|it| 900 + (it * 7_919 + seed * 104_729) % 211 + longer).collect()
}

fn recorded(home: &TempDir, run: &str, gaps: &[u64]) -> PathBuf {
    let folder = home.path().join(run);
    let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 2)]);
    let brief = brief(&plan, u32::try_from(gaps.len()).unwrap(), &[]);
    record(&folder, &plan, &brief, &kills(gaps).facts);
    folder
}

fn compared(home: &TempDir, a: &Path, b: &Path) -> (Option<i32>, String, Value) {
    let said = |more: &[&str]| {
        let mut command = tandem(home.path());
        output(command.arg("compare").arg(a).arg(b).args(more))
    };
    let (text, json) = (said(&[]), said(&["-o", "json"]));
    assert_eq!(text.status.code(), json.status.code());
    let page = String::from_utf8(text.stdout).unwrap();
    let page = page + &String::from_utf8(text.stderr).unwrap();
    let value = serde_json::from_slice(&json.stdout).unwrap_or(Value::Null);
    (text.status.code(), page, value)
}

fn row<'a>(found: &'a Value, group: &str, measure: &str) -> &'a Value {
    let rows = found["rows"].as_array().unwrap();
    rows.iter().find(|row| row["group"] == group && row["measure"] == measure).unwrap()
}

#[test]
fn a_run_whose_gaps_are_longer_is_worse_and_the_other_way_round_it_is_not() {
    let home = tempfile::tempdir().unwrap();
    let before = recorded(&home, "before", &lengths(20, 1, 0));
    let after = recorded(&home, "after", &lengths(20, 2, 150));
    let (code, page, found) = compared(&home, &before, &after);
    assert_eq!(code, Some(3), "{page}");
    assert!(page.starts_with("B IS WORSE\n"), "{page}");
    let gap = row(&found, "p1", "gap");
    assert_eq!(
        (&gap["long"]["outcome"], &gap["often"]["outcome"]),
        (&"worse".into(), &"same".into())
    );
    let shift = |of: &str| gap[of].as_f64().unwrap();
    assert!(shift("shift_low_ms") < 150.0 && 150.0 < shift("shift_high_ms"), "{gap}");
    assert!((100.0..200.0).contains(&shift("shift_ms")), "{gap}");
    assert_eq!(row(&found, "p2", "gap")["often"]["outcome"], "same");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.contains("p is corrected for all tests of this table"), "{page}");
    assert!(page.contains("an interval of 95 % for this row alone"), "{page}");

    let (code, page, found) = compared(&home, &after, &before);
    assert_eq!(code, Some(0), "{page}");
    assert_eq!(row(&found, "p1", "gap")["long"]["outcome"], "better");
    assert!(page.contains("shorter"), "{page}");
}

#[test]
fn equal_runs_do_not_differ() {
    let home = tempfile::tempdir().unwrap();
    let a = recorded(&home, "a", &lengths(20, 1, 0));
    let b = recorded(&home, "b", &lengths(20, 2, 0));
    for (a, b) in [(&a, &a), (&a, &b)] {
        let (code, page, found) = compared(&home, a, b);
        assert_eq!(code, Some(0), "{page}");
        assert_eq!((&found["verdict"], &found["notes"]), (&"pass".into(), &Value::Array(vec![])));
    }
    // What so many trials would have shown is printed: the lengths lie between 900 and 1,110 ms.
    let (_, page, found) = compared(&home, &a, &b);
    let gap = row(&found, "p1", "gap");
    let share = gap["shows_share"].as_f64().unwrap();
    assert!((0.02..0.25).contains(&share), "{gap}");
    let (percent, ms) = (share * 100.0, gap["shows_ms"].as_f64().unwrap());
    let title = format!("gaps that differ by more than {percent:.0} % would show\n");
    assert!(page.starts_with(&format!("NOTHING IS WORSE in B: {title}")), "{page}");
    let title =
        format!("p1 gap            a difference of more than {percent:.0} % ({ms:.0} ms)\n");
    assert!(page.contains(&title), "{page}");
    let joint = found["rows"].as_array().unwrap().last().unwrap();
    assert!((5..15).contains(&joint["shows_from"].as_u64().unwrap()), "{joint}");
    // So it is: a shift that is as large is found, and a small part of it is not.
    for (part, code) in [(1.5, 3), (0.1, 0)] {
        let longer = (ms * part).round().abs();
        let by = format!("{longer:.0}").parse().unwrap();
        let (found, page, _) =
            compared(&home, &a, &recorded(&home, &format!("by-{by}"), &lengths(20, 3, by)));
        assert_eq!(found, Some(code), "{by} ms: {page}");
    }
    // The command reads the journal, whichever file of the folder is named.
    let (code, page, _) = compared(&home, &a.join("result.json"), &b.join("journal.jsonl"));
    assert_eq!(code, Some(0), "{page}");
}

#[test]
fn too_few_trials_show_nothing() {
    let home = tempfile::tempdir().unwrap();
    let a = recorded(&home, "a", &lengths(3, 1, 0));
    let b = recorded(&home, "b", &lengths(3, 2, 500));
    let (code, page, found) = compared(&home, &a, &b);
    assert_eq!((code, &found["verdict"]), (Some(4), &"unknown".into()), "{page}");
    let first_line = "CANNOT TELL: too few trials; it takes about 5 in each run\n";
    assert!(page.starts_with(first_line), "{page}");
    assert_eq!(found["trials_needed"], 5, "{page}");
    assert_eq!(row(&found, "p1", "gap")["shows_ms"], Value::Null);
    assert!(page.contains("p1 gap            no difference in length, however large"), "{page}");
}

#[test]
fn a_run_without_trials_cannot_be_compared() {
    let home = tempfile::tempdir().unwrap();
    let (some, none) = (recorded(&home, "some", &lengths(8, 1, 0)), recorded(&home, "none", &[]));
    for (a, b, who) in
        [(&some, &none, "B has"), (&none, &some, "A has"), (&none, &none, "A and B have")]
    {
        let (code, page, _) = compared(&home, a, b);
        assert_eq!(code, Some(4), "{page}");
        let title = format!("CANNOT TELL: {who} no trial that counts\n");
        assert!(page.starts_with(&title), "{page}");
        assert!(!page.contains("of the 0 of B") && !page.contains("it takes about"), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
}

/// Where each trial strikes some group, a group has a gap in some of them: so many more it takes.
#[test]
fn the_page_says_how_many_trials_are_enough() {
    let home = tempfile::tempdir().unwrap();
    let some = |run: &str, hits: u64, trials: usize| {
        let mut gaps = lengths(hits, 1, 0);
        gaps.resize(trials, 0);
        recorded(&home, run, &gaps)
    };
    let few = some("few", 3, 8);
    let (code, page, found) = compared(&home, &few, &few);
    assert_eq!(code, Some(4), "{page}");
    let needed = usize::try_from(found["trials_needed"].as_u64().unwrap()).unwrap();
    assert!((9..20).contains(&needed), "{needed}\n{page}");
    assert!(page.contains(&format!("about {needed} in each run")), "{page}");
    let hits = u64::try_from(needed * 3 / 8).unwrap();
    let enough = some("enough", hits, needed);
    let (code, page, found) = compared(&home, &enough, &enough);
    assert_eq!((code, &found["trials_needed"]), (Some(0), &Value::Null), "{page}");
}

#[test]
fn runs_of_another_kind_are_named_and_other_folders_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let a = recorded(&home, "a", &lengths(8, 1, 0));
    let mut other = plan(1, &[("p1", 1, 2), ("p3", 1, 2)]);
    other.topology = name("other");
    let mut brief = brief(&other, 8, &[]);
    brief.experiment = "pause-leader".to_owned();
    let b = home.path().join("b");
    record(&b, &other, &brief, &kills(&lengths(8, 1, 0)).facts);
    let (_, page, found) = compared(&home, &a, &b);
    for note in [
        "the experiments differ: kill-leader and pause-leader",
        "the topologies differ: pricing and other",
        "only one of them has p2, p3, which is left out",
    ] {
        assert!(page.contains(note), "{page}");
    }
    assert_eq!(found["notes"].as_array().unwrap().len(), 3);
    let (code, page, _) = compared(&home, &a, &home.path().join("nowhere"));
    assert_eq!(code, Some(2), "{page}");
    assert!(page.contains("nowhere"), "{page}");
    let kept_up = home.path().join("kept-up");
    std::fs::create_dir(&kept_up).unwrap();
    std::fs::copy(a.join("journal.jsonl"), kept_up.join("journal-000001.jsonl")).unwrap();
    let (code, page, _) = compared(&home, &a, &kept_up);
    assert_eq!(code, Some(2), "{page}");
    assert!(page.contains("kept-up is of `tandem up`: it has no trials to compare"), "{page}");
}
