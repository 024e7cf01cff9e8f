//! Series of trials for `tests/measure`: played in parts, continued after an interruption, and
//! reported in one row. Every finished part counts: no part is repeated for its outcome. The rule
//! of the experiment decides which trials the host disturbed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tandem::built::Built;
use tandem::journal;
use tandem::observation::{Fact, Outcome};
use tandem::timeline::{Cause, Finding, Findings, Interval, Timeline};
use tandem::verdict::{DisturbedTrial, Report, Verdict, undisturbed};

use super::experiment::Experiment;
use super::quiet::await_quiet;
use super::results::{Claims, Row, append, tried};

/// Trials are played so many at a time: an interruption costs no more.
const AT_A_TIME: u32 = 10;
/// No part takes longer: whole clusters die and come back in some.
pub const PART_MAX: Duration = Duration::from_secs(900);

/// Where the parts of a series are kept; what is only tried is no part of one.
pub fn folder(name: &str) -> PathBuf {
    let place = if tried().is_some() { "target/tried" } else { "target/measured" };
    let folder = Path::new(crate::ROOT).join(place).join(name);
    if tried().is_some() {
        fs::remove_dir_all(&folder).ok();
    } else if std::env::var_os("TANDEM_AGAIN").is_some() {
        set_aside_series(&folder);
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Keeps the journals of a series that is to be played once more, however it ended.
fn set_aside_series(folder: &Path) {
    let free = |number: &u32| folder.with_extension(format!("before-{number}"));
    if folder.exists() {
        let number = (1..).find(|number| !free(number).exists()).unwrap();
        fs::rename(folder, free(&number)).unwrap();
    }
}

/// Waits until the host is quiet, unless the series is only tried.
pub fn await_turn() {
    if tried().is_none() {
        await_quiet(Duration::from_secs(120));
    }
}

/// One run of a series, which has come to its end.
pub struct Part {
    pub report: Report,
    /// What the undisturbed trials show, as the report has it.
    pub timeline: Timeline,
    pub facts: Vec<Fact>,
    /// What ran.
    pub built: Option<Built>,
    /// How many runs before it were interrupted, or left no result. They stand beside it.
    pub unfinished: usize,
}

impl Part {
    /// Reads what a run has left, if it came to its end: that of a limit is one, and so is that of
    /// a run which could not go on.
    pub fn read(out: &Path) -> Option<Self> {
        let text = fs::read_to_string(out.join("result.json")).ok()?;
        let report: Report = serde_json::from_str(&text).ok()?;
        let done = report.outcome.is_some_and(|how| how != Outcome::Interrupted);
        if !done {
            return None;
        }
        let recording = journal::read(&out.join("journal.jsonl")).ok()?;
        let header = recording.header;
        let all = Timeline::compute(&header.plan, &recording.facts);
        let timeline = undisturbed(&header.brief, &header.plan, &all).into_owned();
        let (facts, built) = (recording.facts, header.built);
        Some(Self { report, timeline, facts, built, unfinished: unfinished(out) })
    }

    /// Its disturbed trials.
    pub fn disturbed(&self) -> &[DisturbedTrial] {
        self.report.disturbed.as_ref().map_or(&[], |disturbed| &disturbed.trials)
    }

    /// How many trials were played, the disturbed among them.
    pub fn played(&self) -> usize {
        self.timeline.record.trials.len() + self.disturbed().len()
    }

    /// Findings in the order of their length, with the stalls of the host in the midst of each.
    pub fn spans<'a>(&'a self, of: impl Fn(&'a Timeline) -> Vec<&'a Finding>) -> Vec<Span> {
        let stalls = &self.timeline.record.stalls;
        let span = |finding: &Finding| {
            let inside = stalls.iter().map(|stall| stall.intersect(finding.span));
            let stalled = inside.map(Interval::length).max().unwrap_or_default();
            Span { length: finding.span.length(), stalled }
        };
        let mut spans: Vec<_> = of(&self.timeline).into_iter().map(span).collect();
        spans.sort_unstable();
        spans
    }

    /// Plays it, unless it was played before.
    pub fn play(out: &Path, experiment: impl FnOnce() -> Experiment) -> Self {
        if let Some(part) = Self::read(out) {
            eprintln!("{} is there already", out.display());
            return part;
        }
        set_aside(out);
        await_turn();
        let run = experiment().with_rule().into(out).start().finish_within(PART_MAX);
        eprintln!("{}", run.stdout);
        Self::read(out).unwrap_or_else(|| panic!("it did not come to its end: {run}"))
    }
}

/// Keeps what a run has left that did not come to its end.
pub fn set_aside(out: &Path) {
    if out.exists() {
        fs::rename(out, aside(out, unfinished(out) + 1)).unwrap();
    }
}

/// Where the run of this number is kept that was played here before and did not come to its end.
fn aside(out: &Path, number: usize) -> PathBuf {
    out.with_extension(format!("unfinished-{number}"))
}

fn unfinished(out: &Path) -> usize {
    (1..).take_while(|number| aside(out, *number).exists()).count()
}

/// `none`; or how many of how many trials the host disturbed, and each with its outcome.
pub fn disturbances<'a>(parts: impl IntoIterator<Item = &'a Part>) -> String {
    let (mut disturbed, mut all) = (Vec::new(), 0);
    for (number, part) in (1..).zip(parts) {
        all += usize::try_from(part.report.trials).unwrap() + part.disturbed().len();
        for trial in part.disturbed() {
            let whom = trial.life.as_ref().map_or("the controller".to_owned(), ToString::to_string);
            disturbed.push(format!(
                "trial {} of run {number}: {} ({whom} kept waiting for {:.0} ms)",
                trial.trial,
                trial.outcome.as_str(),
                trial.stalled_ms
            ));
        }
    }
    match disturbed.len() {
        0 => "none".to_owned(),
        some => format!("{some} of {all}: {}", disturbed.join(", ")),
    }
}

/// `30`; or how many count, and what else was played.
pub fn played<'a>(parts: impl IntoIterator<Item = &'a Part>) -> String {
    let (mut counted, mut left_out, mut unfinished) = (0, 0, 0);
    for part in parts {
        counted += part.report.trials;
        left_out += part.disturbed().len();
        unfinished += part.unfinished;
    }
    let mut text = counted.to_string();
    if left_out > 0 {
        text += &format!(" and {left_out} disturbed");
    }
    if unfinished > 0 {
        text += &format!("; {unfinished} runs were interrupted before and played again");
    }
    text
}

/// In how many runs each verdict was reached, and why where it is no pass; then the same of all
/// trials, the disturbed among them.
pub fn verdicts<'a>(parts: impl IntoIterator<Item = &'a Part>) -> (String, bool) {
    let (mut counts, mut over_all, mut why) = ([(); 2].map(|()| BTreeMap::new()), false, None);
    let mut passed = true;
    for part in parts {
        let own = part.report.verdict;
        let all = part.report.disturbed.as_ref().map_or(own, |disturbed| disturbed.verdict_all);
        for (counts, verdict) in counts.iter_mut().zip([own, all]) {
            *counts.entry(verdict.as_str()).or_insert(0_usize) += 1;
        }
        over_all |= !part.disturbed().is_empty();
        if own != Verdict::Pass {
            passed = false;
            why = why.or_else(|| part.report.reasons.first().cloned());
        }
    }
    let [own, all] = counts.map(|counts| {
        let each = counts.iter().map(|(word, count)| format!("{word} in {count}"));
        each.collect::<Vec<_>>().join(", ")
    });
    let mut text = own;
    if over_all {
        text += &format!("; with the disturbed trials {all}");
    }
    if let Some(why) = why {
        text += &format!(" ({})", why.trim_end_matches('.'));
    }
    (text, passed)
}

/// The gaps of groups that faults caused.
pub fn group_gaps(timeline: &Timeline) -> Vec<&Finding> {
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_))).collect()
}

/// A series of trials of one experiment.
pub struct Series {
    name: &'static str,
    folder: PathBuf,
    pub parts: Vec<Part>,
    pub claims: Claims,
}

impl Series {
    /// Plays the experiment of `chaos/FILE.yaml`, on the embedded broker or what the topology says.
    pub fn play(name: &'static str, file: &str, args: &str, trials: u32) -> Self {
        let file = format!("chaos/{file}.yaml");
        Self::of(name, trials, || Experiment::new(&file).with(args))
    }

    /// Plays any experiment.
    pub fn of(name: &'static str, trials: u32, experiment: impl Fn() -> Experiment) -> Self {
        let (folder, trials) = (folder(name), tried().unwrap_or(trials));
        let count = format!("--trials {}", AT_A_TIME.min(trials));
        let part = |number: u32| {
            let out = folder.join(format!("part-{number}"));
            Part::play(&out, || experiment().with(&count))
        };
        let parts = (0..trials.div_ceil(AT_A_TIME)).map(part).collect();
        Self { name, folder, parts, claims: Claims::default() }
    }

    /// Plays several experiments, one part each.
    pub fn of_each(
        name: &'static str,
        experiments: impl IntoIterator<Item = (&'static str, Experiment)>,
    ) -> Self {
        let folder = folder(name);
        let part =
            |(kind, experiment): (&str, Experiment)| Part::play(&folder.join(kind), || experiment);
        let parts = experiments.into_iter().map(part).collect();
        Self { name, folder, parts, claims: Claims::default() }
    }

    /// All gaps, of groups or joint, with the stalls of the host in the midst of each.
    pub fn spans<'a>(&'a self, of: impl Fn(&'a Timeline) -> Vec<&'a Finding>) -> Vec<Span> {
        let mut spans: Vec<_> = self.parts.iter().flat_map(|part| part.spans(&of)).collect();
        spans.sort_unstable();
        spans
    }

    /// The gaps of groups that faults caused.
    pub fn group_gaps(&self) -> Vec<Span> {
        self.spans(group_gaps)
    }

    /// The gaps of all groups together.
    pub fn joint_gaps(&self) -> Vec<Span> {
        self.spans(|timeline| timeline.joint.gaps.iter().collect())
    }

    /// The overlaps of all groups.
    pub fn overlaps(&self) -> Vec<Span> {
        self.spans(|timeline| {
            timeline.groups.values().flat_map(|group| &group.findings.overlaps).collect()
        })
    }

    /// What groups missed, and all of them together, for a row.
    pub fn missed(&self) -> String {
        let (groups, joint) = (shown(&self.group_gaps()), shown(&self.joint_gaps()));
        format!("group gaps {groups}; joint gaps {joint}")
    }

    /// The longest group gap of each trial.
    pub fn by_trial(&self) -> Vec<Duration> {
        let mut longest = Vec::new();
        for part in &self.parts {
            for trial in &part.timeline.record.trials {
                let groups = part.timeline.groups.values();
                let gaps = groups.flat_map(|group| &group.findings.gaps);
                let gaps = gaps.filter(|gap| gap.trial == trial.number);
                longest.push(gaps.map(|gap| gap.span.length()).max().unwrap_or_default());
            }
        }
        longest
    }

    /// In how many trials a group has one of these.
    pub fn trials_with(&self, of: impl Fn(&Findings) -> &Vec<Finding>) -> usize {
        let trials = self.parts.iter().map(|part| {
            let groups = part.timeline.groups.values();
            let found = groups.flat_map(|group| of(&group.findings));
            found.map(|finding| finding.trial).collect::<BTreeSet<_>>().len()
        });
        trials.sum()
    }

    /// In how many trials all groups together have a gap, and how many there are.
    pub fn joint_gaps_in(&self) -> (usize, usize) {
        let with = self.parts.iter().map(|part| {
            let gaps = part.timeline.joint.gaps.iter();
            gaps.map(|gap| gap.trial).collect::<BTreeSet<_>>().len()
        });
        (with.sum(), self.parts.iter().map(|part| part.timeline.record.trials.len()).sum())
    }

    fn seeds(&self) -> String {
        let seeds: Vec<_> = self.parts.iter().map(|part| part.report.seed.to_string()).collect();
        seeds.join(", ")
    }

    /// Claims that no role had a joint gap, with how often and how long a group had one.
    pub fn claim_no_joint_gap(&mut self) {
        let joint = self.joint_gaps();
        self.claims.add("no joint gap", shown(&joint), joint.is_empty());
    }

    /// Writes the row, and fails where a claim did not hold.
    pub fn conclude(mut self, measured: &str) {
        let (text, passed) = verdicts(&self.parts);
        self.claims.add("verdict pass", text, passed);
        let row = Row {
            built: self.parts.iter().map(|part| part.built.clone()).collect(),
            trials: played(&self.parts),
            disturbed: disturbances(&self.parts),
            measured: format!("{measured} (seeds {})", self.seeds()),
        };
        append(self.name, &self.folder, &row, &self.claims);
        self.claims.hold();
    }
}

/// The length of something, and the longest stall in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub length: Duration,
    pub stalled: Duration,
}

/// `p50 1046, p95 1090, max 1101 ms`, and the stall of the host in the longest, if there was one.
pub fn shown(spans: &[Span]) -> String {
    let Some(last) = spans.last() else { return "none".to_owned() };
    let at = |percent: usize| spans[(spans.len() * percent).div_ceil(100).max(1) - 1].length;
    let stall = if last.stalled.is_zero() {
        String::new()
    } else {
        format!(", with a stall of {} ms", last.stalled.as_millis())
    };
    // What is short is shown in tenths.
    let short = last.length < Duration::from_millis(100);
    let ms = |length: Duration| match length.as_secs_f64() * 1e3 {
        ms if short => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    };
    let [p50, p95, max] = [at(50), at(95), last.length].map(ms);
    format!("{} of p50 {p50}, p95 {p95}, max {max} ms{stall}", spans.len())
}

/// What is claimed of a series of kills: the median gap is in `p50`, in milliseconds, and 28 of 30
/// trials have none above `most`.
pub fn kills(mut series: Series, p50: std::ops::RangeInclusive<u64>, most: u64) {
    let (gaps, trials) = (series.group_gaps(), series.by_trial());
    let median = gaps.get(gaps.len().div_ceil(2).saturating_sub(1)).map(|gap| gap.length);
    let wanted = Duration::from_millis(*p50.start())..=Duration::from_millis(*p50.end());
    let text = format!("group gap p50 from {} to {} ms", p50.start(), p50.end());
    let found = median.map_or("none".to_owned(), |median| median.as_millis().to_string());
    series.claims.add(text, found, median.is_some_and(|median| wanted.contains(&median)));
    let short = trials.iter().filter(|gap| **gap <= Duration::from_millis(most)).count();
    let text = format!("at most {most} ms in 28 of 30 trials");
    let found = format!("in {short} of {}", trials.len());
    series.claims.add(text, found, 30 * short >= 28 * trials.len());
    series.claim_no_joint_gap();
    let text = format!("group gaps {}", shown(&gaps));
    series.conclude(&text);
}
