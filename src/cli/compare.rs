//! `tandem compare`: whether a second run is worse than a first.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::judged::RESULT_FILE;
use super::{Failure, Output};
use crate::journal::{list_parts, open};
use crate::run::{JOURNAL_FILE, RecordedRun, read_run};
use crate::timeline::Timeline;
use crate::verdict::{Counted, Difference, Differs, Exit, Row, Side, Tested, Verdict, undisturbed};

/// Compare two runs: which gaps, overlaps and takeovers differ, how surely, and by how much.
///
/// Compares the gaps, overlaps and takeovers that faults cause in each group, and the gaps and
/// overlaps of all groups together. Fisher's exact test compares in how many trials there was one.
/// A permutation test on ranks, which assumes no distribution, compares the longest of each trial.
/// All p-values are corrected together (Holm): if two runs are equal, a difference is reported with
/// a probability of at most 5 %. The shift is the median of all differences, B less A. Its 95 %
/// interval is for that row alone and not corrected, so it may exclude 0 where p is above 0.05.
/// Longer or more frequent is worse. Six trials with a gap in each run are enough to show a large
/// difference. If a target is `any`, each group is hit in some trials only, so more trials are
/// needed. If there are too few trials, the output says about how many are needed. It always says
/// how large a difference must be for these trials to show it in four of five such pairs of runs.
///
/// Trials that the host disturbed are left out of both runs, by the rule of each experiment.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem compare tandem-out/before tandem-out/after
  tandem compare before/result.json after/journal.jsonl
  tandem compare before after -o json | jq '.rows[] | select(.long.outcome == \"worse\")'")]
pub(super) struct CompareArgs {
    /// The first run: its folder, or its journal.jsonl or result.json.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second run.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Compares the runs. Returns 3 if the second run is worse, and 4 if there are too few trials.
pub(super) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    // Disturbed trials are left out.
    let undisturbed_of = |of: &RecordedRun| {
        undisturbed(&of.header.brief, &of.header.plan, &of.timeline).into_owned()
    };
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

/// Reads the journal of a run; result.json does not have the samples.
fn read(path: &Path) -> Result<RecordedRun, Failure> {
    let journal = if path.is_dir() {
        if list_parts(path).is_ok_and(|parts| !parts.is_empty()) {
            let shown = path.display();
            let message = format!("{shown} is of `tandem up`: it has no trials to compare");
            return Err(Failure::text(Exit::Invalid, message));
        }
        path.join(JOURNAL_FILE)
    } else if path.file_name().is_some_and(|name| name == RESULT_FILE) {
        path.with_file_name(JOURNAL_FILE)
    } else {
        path.to_owned()
    };
    open(&journal).and_then(read_run).map_err(|error| Failure::new(Exit::Invalid, &error))
}

fn side<'a>(of: &'a RecordedRun, timeline: &'a Timeline) -> Side<'a> {
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
    a: &'a RecordedRun,
    b: &'a RecordedRun,
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

/// The width of the first column, with the group and the measure.
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

/// How much longer the second run's intervals are, where that is known.
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

/// The smallest differences that these trials can show.
fn shown(f: &mut fmt::Formatter<'_>, found: &Difference) -> fmt::Result {
    if !found.without_trials().is_empty() {
        return Ok(());
    }
    let percent = found.power * 100.0;
    writeln!(f, "\nwhat these trials can show, in {percent:.0} % of such pairs of runs")?;
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

/// How large a difference of gaps would show, if each group has gaps.
fn least_shown(found: &Difference) -> String {
    let gaps = found.rows.iter().filter(|row| row.measure == "gap" && row.long.is_some());
    let shares: Option<Vec<f64>> = gaps.map(|row| row.shows_share).collect();
    let most = shares.unwrap_or_default().into_iter().reduce(f64::max);
    most.map_or_else(String::new, |share| {
        format!(": gaps that differ by more than {:.0} % would show", share * 100.0)
    })
}

/// The group and the measure, in at most `most` columns.
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
    let line = format!(
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
    writeln!(f, "{}", line.trim_end())
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
