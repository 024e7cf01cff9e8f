//! `tandem compare`: whether a second run is worse than a first.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::judged::{JOURNAL_FILE, RESULT_FILE};
use super::recording::{Told, tell};
use super::{Failure, Output};
use crate::journal::open;
use crate::timeline::Timeline;
use crate::verdict::{Counted, Difference, Differs, Exit, Row, Side, Tested, Verdict, undisturbed};

/// Compare two runs: which gaps, overlaps and takeovers differ, how surely, and by how much.
///
/// Of each group its gaps, overlaps and takeovers by faults are compared, of all groups together
/// gaps and overlaps: in how many trials there was one, by Fisher's exact test, and how long the
/// longest of each trial was, by a permutation test on ranks, which assumes no distribution. The
/// p-values of all of them are corrected together (Holm), so that of twenty pairs of equal runs at
/// most one is told to differ anywhere. The shift is the median of all differences, B less A, with
/// an interval of 95 % for that row alone: it is not corrected, so it may leave out 0 where p is
/// above 0.05. What lasts longer or happens more often is worse. Six trials with one in
/// each run are enough to be told apart; where a target is `any`, each group has one in some trials
/// only, and it takes more. Where they are too few, it is told about how many it takes; and in any
/// case how large a difference so many trials would show, in four of five such pairs of runs.
///
/// Trials that the host disturbed are left out of both runs, by the rule that each experiment
/// states.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem compare tandem-out/before tandem-out/after
  tandem compare before/result.json after/journal.jsonl
  tandem compare before after -o json | jq '.rows[] | select(.long.outcome == \"worse\")'")]
pub(super) struct CompareArgs {
    /// The first run: its folder, or its journal.jsonl or result.json in it.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second run.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Compares; 3 where the second run is worse, 4 where that cannot be told.
pub(super) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    // What the host disturbed says nothing of either.
    let undisturbed_of =
        |of: &Told| undisturbed(&of.header.brief, &of.header.plan, &of.timeline).into_owned();
    let (line_a, line_b) = (undisturbed_of(&a), undisturbed_of(&b));
    let found = Difference::between(&side(&a, &line_a), &side(&b, &line_b));
    let out = &mut super::console::out();
    let written = match args.output {
        Output::Text => write!(out, "{}", Page { found: &found, a: &a, b: &b }),
        Output::Json => serde_json::to_writer_pretty(&mut *out, &found)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Unable, &error))
        }
        Ok(()) | Err(_) => Ok(match found.verdict {
            Verdict::Pass => Exit::Pass,
            Verdict::Fail => Exit::Fail,
            Verdict::Unknown => Exit::Unknown,
        }),
    }
}

/// Reads the journal of a run, for only that has its samples.
fn read(path: &Path) -> Result<Told, Failure> {
    let journal = if path.is_dir() {
        path.join(JOURNAL_FILE)
    } else if path.file_name().is_some_and(|name| name == RESULT_FILE) {
        path.with_file_name(JOURNAL_FILE)
    } else {
        path.to_owned()
    };
    open(&journal).and_then(tell).map_err(|error| Failure::new(Exit::Invalid, &error))
}

fn side<'a>(of: &'a Told, timeline: &'a Timeline) -> Side<'a> {
    Side {
        experiment: &of.header.brief.experiment,
        experiment_text: &of.header.experiment,
        roster: (&of.header.plan).into(),
        decided: serde_json::to_string(&of.header.plan).unwrap_or_default(),
        timeline,
    }
}

struct Page<'a> {
    found: &'a Difference,
    a: &'a Told,
    b: &'a Told,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        title(f, self.found)?;
        for (name, of) in [("A", self.a), ("B", self.b)] {
            let header = &of.header;
            let (run, topology, seed) = (&header.run, &header.plan.topology, header.seed);
            writeln!(f, "  {name}  {run} on {topology}, seed {seed}")?;
        }
        for note in &self.found.notes {
            writeln!(f, "  note: {note}")?;
        }
        writeln!(f, "\n{:NAME$}{:<24}longest of a trial, ms", "", "trials with one")?;
        writeln!(f, "{:NAME$}{:<8}{:<8}{:<7}{:>6}{:>7}  p", "", "A", "B", "p", "A p50", "B p50")?;
        self.found.rows.iter().try_for_each(|row| line(f, row))?;
        shifts(f, self.found)?;
        shown(f, self.found)
    }
}

/// The width of whose it is, and what.
const NAME: usize = 16;

fn title(f: &mut fmt::Formatter<'_>, found: &Difference) -> fmt::Result {
    let empty = found.without_trials();
    match (found.verdict, found.trials_needed) {
        _ if !empty.is_empty() => {
            writeln!(f, "CANNOT TELL: {} no trial that counts", have(&empty))
        }
        (Verdict::Pass, _) => writeln!(f, "NOTHING IS WORSE in B{}", least_shown(found)),
        (Verdict::Fail, _) => writeln!(f, "B IS WORSE"),
        (Verdict::Unknown, None) => writeln!(f, "CANNOT TELL: too few trials"),
        (Verdict::Unknown, Some(needed)) => {
            writeln!(f, "CANNOT TELL: too few trials; it takes about {needed} in each run")
        }
    }
}

fn have(empty: &[&str]) -> &'static str {
    match empty {
        ["A"] => "A has",
        ["B"] => "B has",
        _ => "A and B have",
    }
}

/// By how much the second is longer, where that is known.
fn shifts(f: &mut fmt::Formatter<'_>, found: &Difference) -> fmt::Result {
    let percent = found.level * 100.0;
    let some = found.rows.iter().filter_map(|row| Some((row, row.shift_ms?)));
    for (place, (row, shift)) in some.enumerate() {
        if place == 0 {
            writeln!(
                f,
                "p is corrected for all tests of this table (Holm).\n\n\
                 B less A, ms: the median, and an interval of {percent:.0} % for this row alone"
            )?;
        }
        let interval = match (row.shift_low_ms, row.shift_high_ms) {
            (Some(low), Some(high)) => format!("{low:+.0} to {high:+.0}"),
            _ => "too few for an interval".to_owned(),
        };
        writeln!(f, "  {:<18}{shift:+.0} ({interval})", named(row, 17))?;
    }
    Ok(())
}

/// The least difference that so many trials can show.
fn shown(f: &mut fmt::Formatter<'_>, found: &Difference) -> fmt::Result {
    if !found.without_trials().is_empty() {
        return Ok(());
    }
    let percent = found.power * 100.0;
    writeln!(
        f,
        "\nwhat these trials can tell: in {percent:.0} % of such pairs of runs would show"
    )?;
    for row in &found.rows {
        let mut parts = Vec::new();
        if let (Some(ms), Some(share)) = (row.shows_ms, row.shows_share) {
            parts.push(format!("a difference of more than {:.0} % ({ms:.0} ms)", share * 100.0));
        } else if row.a.with > 0 && row.b.with > 0 {
            parts.push("no difference in length, however large".to_owned());
        }
        match row.shows_from {
            Some(from) => parts.push(format!("one in {from} or more of the {} of B", row.b.trials)),
            None if row.a.with < row.a.trials => {
                parts.push("not even one in each trial of B".to_owned());
            }
            None => {}
        }
        for (place, what) in parts.iter().enumerate() {
            let whose = if place == 0 { named(row, 17) } else { String::new() };
            writeln!(f, "  {whose:<18}{what}")?;
        }
    }
    Ok(())
}

/// How large a difference of gaps would show, where each group has some.
fn least_shown(found: &Difference) -> String {
    let gaps = found.rows.iter().filter(|row| row.measure == "gap" && row.long.is_some());
    let shares: Option<Vec<f64>> = gaps.map(|row| row.shows_share).collect();
    let most = shares.unwrap_or_default().into_iter().reduce(f64::max);
    most.map_or_else(String::new, |share| {
        format!(": gaps that differ by more than {:.0} % would show", share * 100.0)
    })
}

/// Whose it is, and what, in so many columns.
fn named(row: &Row, most: usize) -> String {
    let whose = row.group.as_ref().map_or("joint", |group| group.as_str());
    let room = most.saturating_sub(row.measure.len() + 1);
    if whose.chars().count() <= room {
        return format!("{whose} {}", row.measure);
    }
    let whose: String = whose.chars().take(room.saturating_sub(1)).collect();
    format!("{whose}\u{2026} {}", row.measure)
}

fn line(f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
    let of = |one: Counted| format!("{}/{}", one.with, one.trials);
    let ms = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    let told = format!(
        "{:NAME$}{:<8}{:<8}{:<7}{:>6}{:>7}  {:<7}{}",
        named(row, NAME - 1),
        of(row.a),
        of(row.b),
        p(Some(row.often)),
        ms(row.a.p50_ms),
        ms(row.b.p50_ms),
        p(row.long),
        judged(row),
    );
    writeln!(f, "{}", told.trim_end())
}

/// The corrected p-value.
fn p(test: Option<Tested>) -> String {
    match test {
        Some(test) if test.p_corrected < 0.001 => "<0.001".to_owned(),
        Some(test) => format!("{:.3}", test.p_corrected),
        None => "-".to_owned(),
    }
}

fn judged(row: &Row) -> String {
    let word = |test: Tested, worse, better| match test.outcome {
        Differs::Worse => Some(worse),
        Differs::Better => Some(better),
        Differs::TooFew => Some("too few"),
        Differs::Same => None,
    };
    let often = word(row.often, "more often", "rarer");
    let long = row.long.and_then(|test| word(test, "longer", "shorter"));
    let mut words: Vec<&str> = often.into_iter().chain(long).collect();
    words.dedup();
    words.join(", ")
}
