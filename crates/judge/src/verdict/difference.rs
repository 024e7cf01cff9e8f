//! Compares two runs: which distributions differ, how significantly, and by how much.
//!
//! For each group it compares gaps, overlaps and takeovers that faults caused; for all groups
//! together, gaps and overlaps: the number of trials that had one (Fisher's exact test), and the
//! longest one of each trial (a permutation test on ranks). All p-values are corrected together
//! (Holm). A sample is a trial, since the intervals of one trial are not independent.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::confidence_report::LEVEL;
use super::counted::Longest;
use super::distribution::float;
use super::{Measure, Verdict};
use crate::roster::Roster;
use crate::statistics::power::{count_shown, shift_shown};
use crate::statistics::two_samples::{Comparison, compare, counts, holm, least_p, least_size};
use crate::timeline::Timeline;
use tandem_facts::ids::GroupName;

/// The seed of the shuffles of large sets, fixed so that a comparison can be repeated.
const SEED: u64 = 1;
/// A detectable difference is detected in this share of all pairs of runs.
const POWER: f64 = 0.8;

/// One of the two runs.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    /// The text of the experiment's file.
    pub experiment_text: &'a str,
    /// The run's topology.
    pub roster: Roster,
    /// All decisions about the topology, as text, which is only compared.
    pub decided: String,
    /// The run's timeline.
    pub timeline: &'a Timeline,
}

/// Two runs, compared.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// `fail` if the second run is worse, `unknown` if nothing is worse but there are too few
    /// trials for a test, otherwise `pass`.
    pub verdict: Verdict,
    /// The confidence level: in this share of pairs of equal runs no row differs.
    pub level: f64,
    /// Why the runs are not comparable.
    pub notes: Vec<String>,
    /// Approximately how many trials each run needs so that no test has too few; none if every test
    /// has enough.
    pub trials_needed: Option<u64>,
    /// The power: a detectable difference is detected in this share of all pairs of runs.
    pub power: f64,
    /// One row per distribution.
    pub rows: Vec<Row>,
}

/// One distribution.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The group; none for all groups together.
    pub group: Option<GroupName>,
    /// `gap`, `overlap` or `takeover`.
    pub measure: &'static str,
    /// The first run.
    pub a: Counted,
    /// The second.
    pub b: Counted,
    /// Whether it is as frequent.
    pub often: Tested,
    /// Whether it lasts as long; none if a run has no sample.
    pub long: Option<Tested>,
    /// Approximately how many trials each run needs, if these are too few: as many as give the
    /// tests their least number of samples at the present frequency.
    pub trials_needed: Option<u64>,
    /// The shift of the second run against the first: the median of all pairwise differences; none
    /// if a run has no sample.
    pub shift_ms: Option<f64>,
    /// The lower end of its interval; none if there are too few samples.
    pub shift_low_ms: Option<f64>,
    /// The upper end.
    pub shift_high_ms: Option<f64>,
    /// The least detectable shift; none if no shift is detectable.
    pub shows_ms: Option<f64>,
    /// The same, as a share of the first run's median.
    pub shows_share: Option<f64>,
    /// The least number of trials of the second run in which it must happen to be detectably more
    /// frequent; none if even all are not enough.
    pub shows_from: Option<u64>,
}

/// The samples of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Counted {
    /// The number of observed trials.
    pub trials: u64,
    /// The number of them that had one.
    pub with: u64,
    /// The median of the longest per trial.
    pub p50_ms: Option<f64>,
}

/// One test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Tested {
    /// The p-value: the probability of a difference this large without a real one.
    pub p: f64,
    /// The p-value corrected for the number of tests.
    pub p_corrected: f64,
    /// The result.
    pub outcome: Differs,
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Differs {
    /// The second run has it more often, or longer.
    Worse,
    /// The second run has it less often, or shorter.
    Better,
    /// No difference was detected.
    Same,
    /// There are too few trials to detect any difference.
    TooFew,
}

struct Draft {
    group: Option<GroupName>,
    measure: Measure,
    a: Longest,
    b: Longest,
    long: Option<Comparison>,
}

impl Difference {
    /// Compares the second run with the first.
    #[must_use]
    pub fn between(a: &Side<'_>, b: &Side<'_>) -> Self {
        let both = |group: Option<&GroupName>, measure| {
            let of = |side: &Side<'_>| Longest::of(side.timeline, group, measure);
            let (a, b) = (of(a), of(b));
            let long = compare(&a.samples_ms, &b.samples_ms, LEVEL, SEED);
            Draft { group: group.cloned(), measure, a, b, long }
        };
        let names = a.roster.groups.keys().filter(|name| b.roster.groups.contains_key(*name));
        let measures = [Measure::Gap, Measure::Overlap, Measure::Takeover];
        let of_groups = names.flat_map(|name| measures.map(|measure| both(Some(name), measure)));
        let joint = [Measure::Gap, Measure::Overlap].map(|measure| both(None, measure));
        let drafts: Vec<Draft> = of_groups.chain(joint).collect();
        let rows = judged(&drafts);
        let found = rows.iter().flat_map(|row| [Some(row.often), row.long]).flatten();
        let found: Vec<Differs> = found.map(|test| test.outcome).collect();
        let verdict = if found.contains(&Differs::Worse) {
            Verdict::Fail
        } else if found.contains(&Differs::TooFew) {
            Verdict::Unknown
        } else {
            Verdict::Pass
        };
        let trials_needed = rows.iter().filter_map(|row| row.trials_needed).max();
        Self { verdict, level: LEVEL, notes: notes(a, b), trials_needed, power: POWER, rows }
    }

    /// Which of `A` and `B` has no trial that counts: all were disturbed, or none was fully
    /// observed.
    #[must_use]
    pub fn without_trials(&self) -> Vec<&'static str> {
        let none = |of: fn(&Row) -> Counted| self.rows.iter().all(|row| of(row).trials == 0);
        let sides = [("A", none(|row| row.a)), ("B", none(|row| row.b))];
        sides.into_iter().filter_map(|(name, none)| none.then_some(name)).collect()
    }
}

/// Runs all tests together, so that their p-values can be corrected. A test without anything to
/// compare does not weaken the others.
fn judged(drafts: &[Draft]) -> Vec<Row> {
    let often = |draft: &Draft| {
        let (a, b) = (had(&draft.a), had(&draft.b));
        (1..a.1 + b.1).contains(&(a.0 + b.0)).then(|| counts(a, b))
    };
    let asked: Vec<_> = drafts.iter().map(|it| [often(it), it.long.map(|test| test.p)]).collect();
    let p: Vec<f64> = asked.iter().flatten().flatten().copied().collect();
    let tests = float(u64::try_from(p.len()).unwrap_or(u64::MAX)).max(1.0);
    let least_size = least_size((1.0 - LEVEL) / tests);
    let mut corrected = holm(&p).into_iter();
    let mut test = |p: Option<f64>, least: f64, sign: f64| {
        let p_corrected = p.and_then(|_| corrected.next()).unwrap_or(1.0);
        let outcome = match (p_corrected <= 1.0 - LEVEL, least * tests <= 1.0 - LEVEL) {
            (true, _) if sign > 0.0 => Differs::Worse,
            (true, _) => Differs::Better,
            (false, true) => Differs::Same,
            (false, false) => Differs::TooFew,
        };
        Tested { p: p.unwrap_or(1.0), p_corrected, outcome }
    };
    let rows = drafts.iter().zip(asked).map(|(draft, [often, long])| {
        let (a, b) = (had(&draft.a), had(&draft.b));
        let share = |(some, of): (u64, u64)| float(some) / float(of.max(1));
        let often = test(often, counts((0, a.1), (b.1, b.1)), share(b) - share(a));
        let shift = draft.long.map_or(0.0, |test| test.shift);
        let long = long.map(|p| test(Some(p), least_p(a.0, b.0), shift));
        row(draft, often, long, (least_size, (1.0 - LEVEL) / tests))
    });
    rows.collect()
}

fn row(
    draft: &Draft,
    often: Tested,
    long: Option<Tested>,
    (least, most): (Option<u64>, f64),
) -> Row {
    let ends = draft.long.and_then(|test| test.interval);
    let (a, b) = (&draft.a, &draft.b);
    let shows_ms = shift_shown(&a.samples_ms, &b.samples_ms, most, POWER, SEED);
    let median = counted(a).p50_ms.filter(|median| *median > 0.0);
    Row {
        group: draft.group.clone(),
        measure: match draft.measure {
            Measure::Gap => "gap",
            Measure::Overlap => "overlap",
            Measure::Takeover => "takeover",
        },
        a: counted(&draft.a),
        b: counted(&draft.b),
        often,
        long,
        trials_needed: least.and_then(|least| needed(draft, often, long, least)),
        shift_ms: draft.long.map(|test| test.shift),
        shift_low_ms: ends.map(|ends| ends.low),
        shift_high_ms: ends.map(|ends| ends.high),
        shows_ms,
        shows_share: shows_ms.zip(median).map(|(shift, median)| shift / median),
        shows_from: count_shown(had(a), b.trials, most),
    }
}

/// The number of trials that each run needs for the tests with too few samples, where `least`
/// samples are enough.
fn needed(draft: &Draft, often: Tested, long: Option<Tested>, least: u64) -> Option<u64> {
    let few = |test: Tested| test.outcome == Differs::TooFew;
    let with_one = |(with, trials): (u64, u64)| (least * trials).div_ceil(with.max(1));
    let lasts = long.filter(|test| few(*test));
    let lasts = lasts.map(|_| with_one(had(&draft.a)).max(with_one(had(&draft.b))));
    few(often).then_some(least).max(lasts)
}

/// The number of trials that had it, and the number of trials.
fn had(of: &Longest) -> (u64, u64) {
    (u64::try_from(of.samples_ms.len()).unwrap_or(u64::MAX), of.trials)
}

fn counted(of: &Longest) -> Counted {
    let (with, trials) = had(of);
    let middle = of.samples_ms.len().div_ceil(2).checked_sub(1);
    let p50_ms = middle.and_then(|middle| of.samples_ms.get(middle)).copied();
    Counted { trials, with, p50_ms: p50_ms.filter(|length| length.is_finite()) }
}

fn notes(a: &Side<'_>, b: &Side<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if a.experiment != b.experiment {
        notes.push(format!("the experiments differ: {} and {}", a.experiment, b.experiment));
    } else if a.experiment_text != b.experiment_text {
        notes.push(format!("the experiment {} was changed in between", a.experiment));
    }
    if a.roster.topology != b.roster.topology {
        let (a, b) = (&a.roster.topology, &b.roster.topology);
        notes.push(format!("the topologies differ: {a} and {b}"));
    } else if a.decided != b.decided {
        notes.push(format!("the topology {} was changed in between", a.roster.topology));
    }
    let names = |roster: &Roster| roster.groups.keys().cloned().collect::<BTreeSet<_>>();
    let alone: Vec<String> =
        names(&a.roster).symmetric_difference(&names(&b.roster)).map(ToString::to_string).collect();
    if !alone.is_empty() {
        notes.push(format!("only one of them has {}, which is left out", alone.join(", ")));
    }
    notes
}
