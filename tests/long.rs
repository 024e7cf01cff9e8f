//! The full counts behind what Tandem claims of itself. `tests/long NAME` runs one series with the
//! release build, goes on where it was interrupted, and writes a row into `chaos/RESULTS.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may fail loudly"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use support::experiment::Experiment;
use support::leftovers::{family_in_trial, is_gone_after_a_kill};
use support::measured::await_quiet;
use support::results::{Claims, append};
use support::usage;
use tandem::journal;
use tandem::observation::{Fact, Outcome, What};
use tandem::timeline::{Cause, Finding, Interval, Timeline};
use tandem::verdict::{Report, Verdict};

/// Trials are played so many at a time: an interruption costs no more.
const AT_A_TIME: u32 = 10;

/// Where the parts of a series are kept.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/long").join(name);
    if std::env::var_os("TANDEM_AGAIN").is_some() {
        fs::remove_dir_all(&folder).ok();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// One run of a series, which has come to its end.
struct Part {
    report: Report,
    timeline: Timeline,
    facts: Vec<Fact>,
}

impl Part {
    fn read(out: &Path) -> Option<Self> {
        let text = fs::read_to_string(out.join("result.json")).ok()?;
        let report: Report = serde_json::from_str(&text).ok()?;
        let recording = journal::read(&out.join("journal.jsonl")).ok()?;
        let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
        let done = report.outcome == Some(Outcome::Completed);
        done.then_some(Self { report, timeline, facts: recording.facts })
    }

    /// Plays it, unless it was played before.
    fn play(out: &Path, experiment: impl FnOnce() -> Experiment) -> Self {
        if let Some(part) = Self::read(out) {
            eprintln!("{} is there already", out.display());
            return part;
        }
        fs::remove_dir_all(out).ok();
        await_quiet(Duration::from_secs(120));
        let run = experiment().into(out).finish();
        eprintln!("{}", run.stdout);
        Self::read(out).unwrap_or_else(|| panic!("it did not come to its end: {run}"))
    }
}

/// A series of trials of one experiment.
struct Series {
    name: &'static str,
    folder: PathBuf,
    parts: Vec<Part>,
    claims: Claims,
}

impl Series {
    fn play(name: &'static str, file: &str, args: &str, trials: u32) -> Self {
        let folder = folder(name);
        let part = |number: u32| {
            let args = format!("{args} --trials {}", AT_A_TIME.min(trials));
            let out = folder.join(format!("part-{number}"));
            Part::play(&out, || Experiment::new(&format!("chaos/{file}.yaml")).with(&args))
        };
        let parts: Vec<_> = (0..trials.div_ceil(AT_A_TIME)).map(part).collect();
        Self { name, folder, parts, claims: Claims::default() }
    }

    /// All gaps, of groups or joint, with the stalls of the host in the midst of each.
    fn spans<'a>(&'a self, of: impl Fn(&'a Timeline) -> Vec<&'a Finding>) -> Vec<Span> {
        let mut spans = Vec::new();
        for part in &self.parts {
            let stalls = &part.timeline.record.stalls;
            spans.extend(of(&part.timeline).into_iter().map(|finding| {
                Span {
                    length: finding.span.length(),
                    stalled: stalls
                        .iter()
                        .map(|stall| stall.intersect(finding.span))
                        .map(Interval::length)
                        .max()
                        .unwrap_or_default(),
                }
            }));
        }
        spans.sort_unstable();
        spans
    }

    fn group_gaps(&self) -> Vec<Span> {
        self.spans(|timeline| {
            let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
            gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_))).collect()
        })
    }

    /// The longest group gap of each trial.
    fn by_trial(&self) -> Vec<Duration> {
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

    fn seeds(&self) -> String {
        let seeds: Vec<_> = self.parts.iter().map(|part| part.report.seed.to_string()).collect();
        seeds.join(", ")
    }

    /// Writes the row, and fails where a claim did not hold.
    fn conclude(mut self, measured: &str) {
        let passed = self.parts.iter().all(|part| part.report.verdict == Verdict::Pass);
        self.claims.add("verdict pass", passed);
        let trials: u32 = self.parts.iter().map(|part| part.report.trials).sum();
        let measured = format!("{trials} trials: {measured} (seeds {})", self.seeds());
        append(self.name, &self.folder, &measured, &self.claims);
        self.claims.hold();
    }
}

/// The length of something, and the longest stall in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    length: Duration,
    stalled: Duration,
}

/// `p50 1046, p95 1090, max 1101 ms`, and the stall of the host in the longest, if there was one.
fn shown(spans: &[Span]) -> String {
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

fn kills(name: &'static str, args: &str, p50: std::ops::RangeInclusive<u64>, most: u64) {
    let mut series = Series::play(name, "kill-leader", args, 30);
    let (gaps, trials) = (series.group_gaps(), series.by_trial());
    let median = gaps[gaps.len().div_ceil(2) - 1].length;
    let wanted = Duration::from_millis(*p50.start())..=Duration::from_millis(*p50.end());
    let text = format!("group gap p50 from {} to {} ms", p50.start(), p50.end());
    series.claims.add(text, wanted.contains(&median));
    let short = trials.iter().filter(|gap| **gap <= Duration::from_millis(most)).count();
    series.claims.add(format!("28 of 30 at most {most} ms"), short >= 28);
    let joint = series.spans(|timeline| timeline.joint.gaps.iter().collect());
    series.claims.add("no joint gap", joint.is_empty());
    let text = format!(
        "group gaps {}; {short} of {} trials at most {most} ms; joint gaps {}",
        shown(&gaps),
        trials.len(),
        shown(&joint)
    );
    series.conclude(&text);
}

#[test]
#[ignore = "takes minutes: tests/long kill-leader"]
fn kill_leader() {
    kills("kill-leader", "", 900..=1_150, 1_300);
}

#[test]
#[ignore = "takes minutes: tests/long kill-leader-300ms"]
fn kill_leader_300ms() {
    kills("kill-leader-300ms", "--set defaults.session=300ms", 200..=400, 500);
}

#[test]
#[ignore = "takes minutes: tests/long kill-leader-100ms"]
fn kill_leader_100ms() {
    let args = "--set defaults.session=100ms --set defaults.heartbeat=30ms";
    kills("kill-leader-100ms", args, 50..=150, 250);
}

#[test]
#[ignore = "takes minutes: tests/long twin-kill"]
fn twin_kill() {
    let mut series = Series::play("twin-kill", "twin-kill", "", 30);
    let joint = series.spans(|timeline| timeline.joint.gaps.iter().collect());
    let trials = series.parts.iter().all(|part| {
        let found = |trial| part.timeline.joint.gaps.iter().any(|gap| gap.trial == trial);
        part.timeline.record.trials.iter().all(|trial| found(trial.number))
    });
    series.claims.add("a joint gap in every trial", trials);
    let text = format!("joint gaps {}; group gaps {}", shown(&joint), shown(&series.group_gaps()));
    series.conclude(&text);
}

#[test]
#[ignore = "takes minutes: tests/long pause-leader"]
fn pause_leader() {
    let series = Series::play("pause-leader", "pause-leader", "", 30);
    let overlaps = series.spans(|timeline| {
        timeline.groups.values().flat_map(|group| &group.findings.overlaps).collect()
    });
    let joint = series.spans(|timeline| timeline.joint.gaps.iter().collect());
    let gaps = shown(&series.group_gaps());
    let text =
        format!("group gaps {gaps}; overlaps {}; joint gaps {}", shown(&overlaps), shown(&joint));
    series.conclude(&text);
}

fn calms(name: &'static str, lasts: &'static str) {
    let folder = folder(name);
    let part = Part::play(&folder.join("part-0"), || Experiment::calm(lasts));
    let trial = part.timeline.record.trials[0].window;
    let regroups = part.facts.iter().filter(|fact| {
        let moved = matches!(fact.what, What::Assigned { .. } | What::Revoked { .. });
        trial.contains(fact.t) && (moved || matches!(fact.what, What::Lost { .. }))
    });
    let regroups = regroups.count();
    let groups = part.timeline.groups.values().map(|group| &group.findings);
    let found: usize = groups.map(|of| of.gaps.len() + of.overlaps.len()).sum();
    let mut claims = Claims::default();
    claims.add("no gap, no overlap", found == 0);
    claims.add("no rebalance", regroups == 0);
    claims.add("verdict pass", part.report.verdict == Verdict::Pass);
    let text = format!(
        "{lasts}: {found} gaps and overlaps, {regroups} rebalances, {} stalls, floor \
        {:.1} ms (seed {})",
        part.report.stalls.len(),
        part.report.floor_ms,
        part.report.seed
    );
    append(name, &folder, &text, &claims);
    claims.hold();
}

#[test]
#[ignore = "takes minutes: tests/long calm"]
fn calm() {
    calms("calm", "60s");
}

#[test]
#[ignore = "takes minutes: tests/long soak"]
fn soak() {
    calms("soak", "30m");
}

#[test]
#[ignore = "takes minutes: tests/long leavings"]
fn leavings() {
    let folder = folder("leavings");
    let seed = tandem::time::Mono::now().0;
    let mut chance = rand_chacha::ChaCha12Rng::seed_from_u64(seed);
    for number in 0..10 {
        let wait = Duration::from_millis(chance.random_range(0..20_000));
        eprintln!("instant {number}: {wait:?} (seed {seed})");
        is_gone_after_a_kill(wait);
    }
    let mut claims = Claims::default();
    claims.add("nothing left behind after 5 s", true);
    claims.add("journal readable", true);
    append(
        "leavings",
        &folder,
        &format!(
            "10 controllers killed at random instants of \
        pause-leader (seed {seed})"
        ),
        &claims,
    );
}

#[test]
#[ignore = "takes a minute: tests/long resources"]
fn resources() {
    let folder = folder("resources");
    await_quiet(Duration::from_secs(120));
    let run = Experiment::calm("30s").start();
    let family = family_in_trial(&run);
    let most = |what: &str, expected: usize| {
        let pids = family.doing(what);
        assert_eq!(pids.len(), expected, "{what}");
        let used = usage::watch(&pids, Duration::from_secs(10));
        let core = used.iter().map(|one| one.core_percent).fold(0.0, f64::max);
        (core, used.iter().map(|one| one.resident_mib).fold(0.0, f64::max))
    };
    let ((member, resident), (broker, broker_resident)) = (most("member", 6), most("broker", 2));
    let controller = usage::watch(&[run.pid()], Duration::from_secs(2))[0];
    run.finish();
    let mut claims = Claims::default();
    claims.add("members below 5 % of a core", member < 5.0);
    claims.add("members below 30 MB", resident * 1.048_576 < 30.0);
    claims.add("brokers below 10 % of a core", broker < 10.0);
    let text = format!(
        "at most, of 6 members {member:.1} % of a core and {resident:.1} MiB, of 2 \
        brokers {broker:.1} % and {broker_resident:.1} MiB; the controller {:.1} % and {:.1} MiB",
        controller.core_percent, controller.resident_mib
    );
    append("resources", &folder, &text, &claims);
    claims.hold();
}
