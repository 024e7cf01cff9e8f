//! The numbers in README: its samples are what its commands print, and `UPDATE=1` writes them anew.
//! `tests/export/readme.rs` has their form.

use support::experiment::{Experiment, Finished};
use support::measured::{measured, measured_alone, require};
use support::readme::{FIRST, STAND_INS, rewrite, sample, shape, table};

/// Where the first command puts its files, as README has it.
const SHOWN: &str = "tandem-out/kill-leader-…";

/// Compares what a command printed with the sample behind these words, or writes it there.
fn compare(before: &str, printed: &str) {
    if std::env::var_os("UPDATE").is_some() {
        rewrite(before, printed);
        return;
    }
    assert_eq!(shape(printed), shape(&sample(before)), "UPDATE=1 writes it anew\n{printed}");
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

#[test]
fn the_sample_matches_the_output_of_the_first_command() {
    // The seed of the sample: which groups are hit decides which rows there are.
    let Some(run) = played("--seed 7") else { return };
    compare(FIRST, &printed(&run));
}

/// The bound of a stand-in is 50 ms, and a neighbour may keep a member waiting for as long without
/// a disturbance by the rule of this experiment.
#[test]
fn the_table_of_stand_ins_matches_the_output_of_its_command() {
    let run = played_alone("--seed 7 --set defaults.on_death=stand-in");
    let Some(run) = run else { return };
    compare(STAND_INS, &format!("{}\n", table(&run.stdout)));
}
