//! The samples in README have the form of what the program prints of such a run: of the same kills,
//! with facts that a test makes up. `tests/measured/readme.rs` plays them, and writes the numbers.

use std::fs;

use tandem::verdict::{Report, Verdict, render};

use crate::html_report::large::Large;
use support::facts::{at, brief};
use support::readme::{FIRST, STAND_INS, sample, shape, table};

/// The first command plays eight trials, which hit either group; two are enough for that.
const KILLS: Large = Large { roles: 4, partitions: 4, groups: 2, members: 3, trials: 2 };

/// What a run prints, but for the names of its files: how long their paths are decides where lines
/// end.
fn printed() -> String {
    let text = fs::read_to_string("topologies/duo.yaml").unwrap();
    let plan = tandem::topology::plan(&text, &[]).unwrap();
    let experiment = fs::read_to_string("chaos/kill-leader.yaml").unwrap();
    let claims = ["joint.gap.max == 0ms", "group.gap.max <= bound.group.gap"];
    assert!(claims.iter().all(|claim| experiment.contains(claim)), "{experiment}");
    let brief = brief(&plan, KILLS.trials, &claims);
    let report = Report::compute(&plan, &brief, 7, at(10), &KILLS.facts());
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.reasons);
    let page = render(&report, "tandem-out/kill-leader", false);
    page.split_once("\nfiles ").unwrap().0.to_owned()
}

#[test]
fn the_first_sample_has_the_form_of_what_is_printed() {
    let page = fs::read_to_string("README.md").unwrap();
    assert!(page.contains("\ncargo run --release -- chaos run chaos/kill-leader.yaml\n"));
    let shown = sample(FIRST);
    let (shown, files) = shown.split_once("\nfiles ").unwrap();
    let printed = printed();
    assert_eq!(shape(&printed), shape(shown), "{printed}");
    for name in ["report.html", "result.json", "journal.jsonl"] {
        assert!(files.contains(name), "{files}");
    }
}

#[test]
fn the_table_of_stand_ins_has_the_form_of_what_is_printed() {
    let printed = printed();
    assert_eq!(shape(table(&printed)), shape(&sample(STAND_INS)), "{printed}");
}

#[test]
fn a_shape_leaves_out_numbers_and_nothing_else() {
    let line = "p1             6    955   1108   1108   1255     8   4138      -";
    assert_eq!(shape(line), ["p# # # # # # # # #"]);
    assert_ne!(shape("PASS kill-leader: 8 of 8"), shape("FAIL kill-leader: 8 of 8"));
    assert_eq!(shape("worst gap  1145 ms   usdjpy in p2"), shape("worst gap 9 ms brent in p1"));
    assert_ne!(shape("objective  pass joint_gap <= 0s"), shape("objective  fail joint_gap <= 0s"));
}
