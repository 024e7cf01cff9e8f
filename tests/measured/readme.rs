//! What the pages show is what the program prints: README's sample is the output of its first
//! command but for the numbers, and `UPDATE=1` writes it anew. Results go into the table that
//! grows.

use std::fs;

use support::experiment::{Experiment, Finished};
use support::measured::{measured, measured_alone, require};
use support::results::{Claims, with_row};

/// Where the first command puts its files, as README has it.
const SHOWN: &str = "tandem-out/kill-leader-…";
/// The words before the sample.
const BEFORE: &str = "and ends after about a minute with\n\n```text\n";
/// The words before the table of the same kills with stand-ins.
const BEFORE_STAND_INS: &str = "--set defaults.on_death=stand-in`:\n\n```text\n";

/// Compares what a command printed with the sample after these words, or writes it there.
fn compare(before: &str, printed: &str) {
    let page = fs::read_to_string("README.md").unwrap();
    let (head, rest) = page.split_once(before).unwrap();
    let (sample, after) = rest.split_once("```").unwrap();
    if std::env::var_os("UPDATE").is_some() {
        fs::write("README.md", format!("{head}{before}{printed}```{after}")).unwrap();
        return;
    }
    assert_eq!(shape(printed), shape(sample), "UPDATE=1 writes it anew\n{printed}");
}

/// What the first command prints, its files in the folder of the sample: how long their paths are
/// decides where lines end.
fn printed(run: &Finished) -> String {
    let (before, files) = run.stdout.split_once("\nfiles ").unwrap();
    let [html, result, journal] = ["report.html", "result.json", "journal.jsonl"];
    for name in [html, result, journal] {
        let path = run.out.join(name).display().to_string();
        assert!(files.contains(&path), "{path}: {files}");
    }
    format!("{before}\nfiles      {SHOWN}/{html}   …/{result}   …/{journal}\n")
}

/// Runs the first command, which passes; alone where its numbers are written down.
fn played(args: &str) -> Option<Finished> {
    let is_written = std::env::var_os("UPDATE").is_some();
    if is_written { played_alone(args) } else { measured(|| first(args), passes) }
}

/// The same, alone in any case.
fn played_alone(args: &str) -> Option<Finished> {
    measured_alone(|| first(args), passes)
}

fn first(args: &str) -> Experiment {
    Experiment::new("chaos/kill-leader.yaml").with(args)
}

fn passes(run: &Finished) -> Result<(), String> {
    require(run.code() == Some(0), || "it passes".to_owned())
}

/// What stays of each line where numbers, names and lengths may be others: a cell without a number
/// is one with it, and the names of roles are one.
fn shape(text: &str) -> Vec<String> {
    let word = |word: &str| {
        let number = word.starts_with(|first: char| first.is_ascii_digit()) || word == "-";
        match word {
            "eurusd" | "usdjpy" | "xauusd" | "brent" => "ROLE".to_owned(),
            _ if number => "#".to_owned(),
            _ => word.split(|it: char| it.is_ascii_digit()).collect::<Vec<_>>().join("#"),
        }
    };
    // Of a host that stalls there are more lines, and they are shown where they belong.
    let mut disturbed = false;
    let own = |line: &&str| {
        let goes_on = disturbed && line.starts_with("    ");
        disturbed = goes_on || line.starts_with("disturbed ");
        !disturbed && !line.contains("stalled")
    };
    // How many gaps there are is said only where some trial had more than one.
    let line = |line: &str| {
        let words = line.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
        words.replace(" (# gaps)", "").replace(" (# gap)", "")
    };
    text.lines().filter(own).map(line).collect()
}

#[test]
fn the_sample_matches_the_output_of_the_first_command() {
    let page = fs::read_to_string("README.md").unwrap();
    assert!(page.contains("\ncargo run --release -- chaos run chaos/kill-leader.yaml\n"));
    // The seed of the sample: which groups are hit decides which rows there are.
    let Some(run) = played("--seed 7") else { return };
    compare(BEFORE, &printed(&run));
}

/// The bound of a stand-in is 50 ms, and a neighbour may keep a member waiting for as long without
/// a disturbance by the rule of this experiment.
#[test]
fn the_table_of_stand_ins_matches_the_output_of_its_command() {
    let run = played_alone("--seed 7 --set defaults.on_death=stand-in");
    let Some(run) = run else { return };
    let from = run.stdout.find("\nms  ").unwrap() + 1;
    let table = &run.stdout[from..];
    let (table, _) = table.split_once("\n\n").unwrap();
    compare(BEFORE_STAND_INS, &format!("{table}\n"));
}

#[test]
fn a_shape_leaves_out_numbers_and_nothing_else() {
    let line = "p1             6    955   1108   1108   1255     8   4138      -";
    assert_eq!(shape(line), ["p# # # # # # # # #"]);
    assert_ne!(shape("PASS kill-leader: 8 of 8"), shape("FAIL kill-leader: 8 of 8"));
    assert_eq!(shape("worst gap  1145 ms   usdjpy in p2"), shape("worst gap 9 ms brent in p1"));
    assert_ne!(shape("objective  pass joint_gap <= 0s"), shape("objective  fail joint_gap <= 0s"));
}

#[test]
fn a_row_is_put_below_the_last_of_the_table_that_grows() {
    let page = fs::read_to_string("chaos/RESULTS.md").unwrap();
    let once = with_row(&page, "| one |\n");
    let twice = with_row(&once, "| two |\n");
    assert_eq!(twice.replace("| one |\n| two |\n", ""), page);
    let (new, old) = twice.split_once("\n## Before").unwrap();
    assert!(new.contains("|\n| one |\n| two |\n\n") && !old.contains("| two |"), "{new}");
}

#[test]
fn a_claim_is_shown_with_its_number_and_fails_where_it_does_not_hold() {
    let mut claims = Claims::default();
    claims.add("no joint gap", "none", true);
    claims.hold();
    claims.add("at most 20 ms", 31, false);
    assert_eq!(claims.shown(), "no joint gap: none; **not** at most 20 ms: 31");
    assert!(std::panic::catch_unwind(|| claims.hold()).is_err());
}
