//! Series of trials for `tests/long`: played in parts, gone on with where they were interrupted,
//! and told in one row.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tandem::journal;
use tandem::observation::{Fact, Outcome};
use tandem::timeline::{Cause, Finding, Findings, Interval, Timeline};
use tandem::verdict::{Report, Verdict};

use super::experiment::Experiment;
use super::measured::await_quiet;
use super::results::{Claims, append, tried};

/// Trials are played so many at a time: an interruption costs no more.
const AT_A_TIME: u32 = 10;
/// How often a part may be played that the host has spoiled.
const ATTEMPTS_MAX: u32 = 3;
/// No part takes longer: whole clusters die and come back in some.
pub const PART_MAX: Duration = Duration::from_secs(900);

/// Where the parts of a series are kept; what is only tried is no part of one.
pub fn folder(name: &str) -> PathBuf {
    let place = if tried().is_some() { "target/tried" } else { "target/long" };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(place).join(name);
    if tried().is_some() || std::env::var_os("TANDEM_AGAIN").is_some() {
        fs::remove_dir_all(&folder).ok();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
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
    pub timeline: Timeline,
    pub facts: Vec<Fact>,
}

impl Part {
    /// Reads what a run has left, if it came to its end.
    pub fn read(out: &Path) -> Option<Self> {
        let text = fs::read_to_string(out.join("result.json")).ok()?;
        let report: Report = serde_json::from_str(&text).ok()?;
        let recording = journal::read(&out.join("journal.jsonl")).ok()?;
        let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
        let done = report.outcome == Some(Outcome::Completed);
        done.then_some(Self { report, timeline, facts: recording.facts })
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

    /// Whether it did not hold, and the host did not let the instrument run meanwhile: then it
    /// tells of the host.
    pub fn is_spoiled(&self) -> bool {
        self.report.verdict != Verdict::Pass && !self.report.stalls.is_empty()
    }

    /// Plays it, unless it was played before; again where the host has spoiled it. How often that
    /// was so stands beside it.
    fn play_unspoiled(out: &Path, experiment: impl Fn() -> Experiment) -> (Self, u32) {
        let play = || Self::play(out, &experiment);
        let remove = || fs::remove_dir_all(out).unwrap();
        unspoiled(&out.with_extension("spoiled"), play, Self::is_spoiled, remove)
    }

    /// Plays it, unless it was played before.
    pub fn play(out: &Path, experiment: impl FnOnce() -> Experiment) -> Self {
        if let Some(part) = Self::read(out) {
            eprintln!("{} is there already", out.display());
            return part;
        }
        fs::remove_dir_all(out).ok();
        await_turn();
        let run = experiment().into(out).start().finish_within(PART_MAX);
        eprintln!("{}", run.stdout);
        Self::read(out).unwrap_or_else(|| panic!("it did not come to its end: {run}"))
    }
}

/// Plays something, and again where the host has spoiled it; how often that was so stands in
/// `note`.
pub fn unspoiled<T>(
    note: &Path,
    play: impl Fn() -> T,
    is_spoiled: impl Fn(&T) -> bool,
    remove: impl Fn(),
) -> (T, u32) {
    let mut spoiled = fs::read_to_string(note).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut played = play();
    while is_spoiled(&played) && spoiled + 1 < ATTEMPTS_MAX {
        spoiled += 1;
        fs::write(note, spoiled.to_string()).unwrap();
        remove();
        played = play();
    }
    (played, spoiled)
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
    /// How many parts more were played and did not hold while the host stalled.
    spoiled: u32,
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
            Part::play_unspoiled(&out, || experiment().with(&count))
        };
        let (parts, spoiled): (Vec<_>, Vec<_>) = (0..trials.div_ceil(AT_A_TIME)).map(part).unzip();
        let spoiled = spoiled.iter().sum();
        Self { name, folder, parts, spoiled, claims: Claims::default() }
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

    fn seeds(&self) -> String {
        let seeds: Vec<_> = self.parts.iter().map(|part| part.report.seed.to_string()).collect();
        seeds.join(", ")
    }

    /// Writes the row, and fails where a claim did not hold.
    pub fn conclude(mut self, measured: &str) {
        let passed = self.parts.iter().all(|part| part.report.verdict == Verdict::Pass);
        self.claims.add("verdict pass", passed);
        let trials: u32 = self.parts.iter().map(|part| part.report.trials).sum();
        let again = match self.spoiled {
            0 => String::new(),
            spoiled => format!(
                "; {spoiled} times {} trials that did not hold were played again, for the host had \
                 stalled",
                AT_A_TIME.min(trials)
            ),
        };
        let measured = format!("{trials} trials: {measured}{again} (seeds {})", self.seeds());
        append(self.name, &self.folder, &measured, &self.claims);
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
    let [p50, p95, max] = [at(50), at(95), last.length].map(|length| length.as_millis());
    format!("{} of p50 {p50}, p95 {p95}, max {max} ms{stall}", spans.len())
}

/// What is claimed of a series of kills: the median gap is in `p50`, in milliseconds, and 28 of 30
/// trials have none above `most`.
pub fn kills(mut series: Series, p50: std::ops::RangeInclusive<u64>, most: u64) {
    let (gaps, trials) = (series.group_gaps(), series.by_trial());
    let median = gaps[gaps.len().div_ceil(2) - 1].length;
    let wanted = Duration::from_millis(*p50.start())..=Duration::from_millis(*p50.end());
    let text = format!("group gap p50 from {} to {} ms", p50.start(), p50.end());
    series.claims.add(text, wanted.contains(&median));
    let short = trials.iter().filter(|gap| **gap <= Duration::from_millis(most)).count();
    series.claims.add(format!("28 of 30 at most {most} ms"), short >= 28);
    let joint = series.joint_gaps();
    series.claims.add("no joint gap", joint.is_empty());
    let text = format!(
        "group gaps {}; {short} of {} trials at most {most} ms; joint gaps {}",
        shown(&gaps),
        trials.len(),
        shown(&joint)
    );
    series.conclude(&text);
}
