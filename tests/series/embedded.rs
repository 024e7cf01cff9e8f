//! The full counts behind what Tandem claims of itself. `tests/measure NAME` runs one series with
//! the release build, goes on where it was interrupted, and writes a row into `chaos/RESULTS.md`.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use support::exclusive::{self, never_two};
use support::experiment::{Experiment, Running};
use support::handovers;
use support::isolations;
use support::leftovers::{GONE, family_in_trial, gone_after_a_kill};
use support::quiet::await_quiet;
use support::results::{Claims, Row, append, tried};
use support::series::{
    Part, Series, disturbances, folder, group_gaps, kills, played, shown, verdicts,
};
use support::stand_in;
use support::undone::{Blow, Embedded, Since, undone_after};
use support::usage;
use tandem::ids::TrialNumber;
use tandem::observation::{Fact, MemberEvent, Outcome, RunEvent, What};
use tandem::time::Mono;

#[test]
#[ignore = "takes minutes: tests/measure kill-leader"]
fn kill_leader() {
    kills(Series::play("kill-leader", "kill-leader", "", 30), 900..=1_150, 1_300);
}

#[test]
#[ignore = "takes minutes: tests/measure kill-leader-300ms"]
fn kill_leader_300ms() {
    let args = "--set defaults.session=300ms";
    kills(Series::play("kill-leader-300ms", "kill-leader", args, 30), 200..=400, 500);
}

#[test]
#[ignore = "takes minutes: tests/measure kill-leader-100ms"]
fn kill_leader_100ms() {
    let args = "--set defaults.session=100ms --set defaults.heartbeat=30ms";
    kills(Series::play("kill-leader-100ms", "kill-leader", args, 30), 50..=150, 250);
}

#[test]
#[ignore = "takes minutes: tests/measure twin-kill"]
fn twin_kill() {
    let mut series = Series::play("twin-kill", "twin-kill", "", 30);
    let joint = series.joint_gaps();
    let (found, trials) = series.joint_gaps_in();
    let text = format!("in {found} of {trials}");
    series.claims.add("a joint gap in every trial", text, found == trials);
    let text = format!("joint gaps {}; group gaps {}", shown(&joint), shown(&series.group_gaps()));
    series.conclude(&text);
}

#[test]
#[ignore = "takes minutes: tests/measure pause-leader"]
fn pause_leader() {
    let series = Series::play("pause-leader", "pause-leader", "", 30);
    let text = format!("{}; overlaps {}", series.missed(), shown(&series.overlaps()));
    series.conclude(&text);
}

#[test]
#[ignore = "takes a quarter of an hour: tests/measure isolate-leader"]
fn isolate_leader() {
    let name = "isolate-leader";
    isolations::seamless(Series::play(name, name, isolations::SEAMLESS, 50));
}

#[test]
#[ignore = "takes a quarter of an hour: tests/measure isolate-leader-short"]
fn isolate_leader_short() {
    let name = "isolate-leader-short";
    isolations::short(Series::play(name, "isolate-leader", isolations::SHORT, 50));
}

#[test]
#[ignore = "takes a quarter of an hour: tests/measure handovers"]
fn handovers() {
    handovers::short_overlaps("handovers", Duration::from_millis(3), |experiment| experiment);
}

#[test]
#[ignore = "takes half an hour: tests/measure memberships"]
fn memberships() {
    handovers::memberships("memberships");
}

#[test]
#[ignore = "takes minutes: tests/measure exclusive"]
fn exclusive() {
    let on = "-f topologies/exclusive.yaml";
    never_two(exclusive::series("exclusive", 4, |experiment| experiment.with(on)));
}

/// Sixty kills with a session of 10 s, by three and by five members.
#[test]
#[ignore = "takes a quarter of an hour: tests/measure stand-in"]
fn stand_in() {
    let played = [("stand-in", "3"), ("stand-in-five", "5")].map(|(name, members)| {
        let on = format!("-f topologies/stand-in.yaml --set groups.p1.members={members}");
        let text = stand_in::experiment("kill", "fault: kill", 60);
        let kill = || Experiment::of("kill.yaml", &text).with(&on);
        std::panic::catch_unwind(|| stand_in::kills(Series::of(name, 60, kill), 2_000, 4_000))
    });
    assert!(played.iter().all(Result::is_ok), "by three and by five members");
}

/// Two of five members are killed at once.
#[test]
#[ignore = "takes minutes: tests/measure stand-in-for-two"]
fn stand_in_for_two() {
    let on = "-f topologies/stand-in.yaml --set groups.p1.members=5";
    let text = stand_in::hitting("two", "fault: kill, target: {group: p1, mode: minority}", 30);
    let two = || Experiment::of("two.yaml", &text).with(on);
    stand_in::kills(Series::of("stand-in-for-two", 30, two), 4_000, 10_000);
}

fn calms(name: &'static str, lasts: &'static str) {
    let folder = folder(name);
    let part = Part::play(&folder.join("part-0"), || Experiment::calm(lasts));
    let trial = part.timeline.record.trials[0].window;
    let regroups = part.facts.iter().filter(|fact| {
        let moved = matches!(
            fact.what,
            What::Member(MemberEvent::Assigned { .. } | MemberEvent::Revoked { .. })
        );
        trial.contains(fact.t)
            && (moved || matches!(fact.what, What::Member(MemberEvent::Lost { .. })))
    });
    let regroups = regroups.count();
    let groups = part.timeline.groups.values().map(|group| &group.findings);
    let found: usize = groups.map(|of| of.gaps.len() + of.overlaps.len()).sum();
    let mut claims = Claims::default();
    claims.add("no gap, no overlap", found, found == 0);
    claims.add("no rebalance", regroups, regroups == 0);
    let (text, passed) = verdicts([&part]);
    claims.add("verdict pass", text, passed);
    let text = format!(
        "{lasts}: {} stalls, floor {:.1} ms (seed {})",
        part.report.stalls.len(),
        part.report.floor_ms,
        part.report.seed
    );
    append(name, &folder, &row(&part, text), &claims);
    claims.hold();
}

/// The row of a series of one run.
fn row(part: &Part, measured: String) -> Row {
    let built = vec![part.built.clone()];
    Row { built, trials: played([part]), disturbed: disturbances([part]), measured }
}

#[test]
#[ignore = "takes minutes: tests/measure calm"]
fn calm() {
    calms("calm", "60s");
}

#[test]
#[ignore = "takes minutes: tests/measure soak"]
fn soak() {
    calms("soak", "30m");
}

/// Every trial kills or stops a member of each group, at a random instant; three groups of eight
/// members, each on a broker of its own.
const STORM: &str = "\
version: 1
name: storm
trials: 90
method:
  - {id: k, jitter: 4s, fault: kill, target: {group: p1, mode: one}}
  - {id: p, jitter: 3s, fault: pause, for: 3s, target: {group: p2, mode: one}}
  - {id: kk, jitter: 4s, fault: kill, target: {group: p3, mode: 2}}
assert: [group.gap.max <= bound.group.gap]
objective: {joint_gap: 0s}
";

/// Waits for a trial to begin; looks now and then, for a long journal takes long to read.
fn await_trial(run: &Running, number: u32) {
    let wanted = What::Run(RunEvent::TrialBegan { trial: TrialNumber(number) });
    let began = |fact: &Fact| fact.what == wanted;
    let since = Mono::now();
    while !run.facts().iter().any(began) {
        assert!(Mono::now().since(since) < Duration::from_secs(1_800), "trial {number}: never");
        std::thread::sleep(Duration::from_secs(3));
    }
}

#[test]
#[ignore = "takes ten minutes: tests/measure storm"]
fn storm() {
    let folder = folder("storm");
    await_quiet(Duration::from_secs(120));
    let args = "-f topologies/trio.yaml --set groups.p1.members=8 --set groups.p2.members=8 \
                --set groups.p3.members=8 --set defaults.session=1s";
    let run = Experiment::of("storm.yaml", STORM).with(args).into(&folder.join("part-0")).start();
    let family = family_in_trial(&run);
    let brokers = family.doing("broker");
    let resident = || {
        let all = brokers.iter().chain([&run.pid()]).copied().collect::<Vec<_>>();
        let used = usage::watch(&all, Duration::from_secs(1));
        used.iter().map(|one| one.resident_mib).collect::<Vec<_>>()
    };
    // What a process touches once, it has touched after a minute.
    await_trial(&run, 8);
    let before = resident();
    await_trial(&run, 90);
    let after = resident();
    run.finish();
    let part = Part::read(&folder.join("part-0")).unwrap();
    let grown = before.iter().zip(&after).map(|(before, after)| after - before).fold(0.0, f64::max);
    let trials = &part.timeline.record.trials;
    let lasted = trials[trials.len() - 1].window.until.since(trials[0].window.from);
    let mut claims = Claims::default();
    let text = format!("{} s", lasted.as_secs());
    claims.add("10 minutes at least", text, lasted >= Duration::from_secs(600));
    let stuck = part.report.outcome != Some(Outcome::Completed);
    claims.add("no group stuck", format!("the run ended as {:?}", part.report.outcome), !stuck);
    let (text, passed) = verdicts([&part]);
    claims.add("verdict pass: no gap above its bound", text, passed);
    let text = format!("at most {grown:.1} MiB after the eighth trial");
    claims.add("memory of brokers and controller grows by less than 2 MiB", text, grown < 2.0);
    let text = format!(
        "24 members, {} faults: group gaps {}; brokers and controller had at most {:.1} MiB \
         (seed {})",
        part.report.faults.len(),
        shown(&part.spans(group_gaps)),
        after.iter().copied().fold(0.0, f64::max),
        part.report.seed
    );
    append("storm", &folder, &row(&part, text), &claims);
    claims.hold();
}

#[test]
#[ignore = "takes minutes: tests/measure leavings"]
fn leavings() {
    let folder = folder("leavings");
    let seed = Mono::now().0;
    let mut chance = rand_chacha::ChaCha12Rng::seed_from_u64(seed);
    let count = tried().unwrap_or(10);
    let mut worst = Duration::ZERO;
    for number in 0..count {
        let wait = Duration::from_millis(chance.random_range(0..20_000));
        let (took, _) = gone_after_a_kill(wait);
        eprintln!("instant {number}: {wait:?}, all gone after {took:?} (seed {seed})");
        worst = worst.max(took);
    }
    let mut claims = Claims::default();
    let text = format!("after {:.2} s at the latest", worst.as_secs_f64());
    claims.add("nothing left behind 5 s after the signal", text, worst <= GONE);
    let text = format!(
        "controllers killed at random instants of a run that pauses leaders; each journal was \
         read and judged unknown (seed {seed})"
    );
    append("leavings", &folder, &Row::without_trials(count, &text), &claims);
    claims.hold();
}

#[test]
#[ignore = "takes half an hour: tests/measure undone"]
fn undone() {
    let folder = folder("undone");
    let seed = Mono::now().0;
    let mut chance = rand_chacha::ChaCha12Rng::seed_from_u64(seed);
    let blows = [Blow::ControllerKilled, Blow::ControllerStopped, Blow::GuardKilled];
    let pairs = blows.into_iter().flat_map(|blow| Embedded::ALL.map(|embedded| (blow, embedded)));
    let (pairs, count) = (pairs.collect::<Vec<_>>(), tried().unwrap_or(100));
    let mut all = Vec::new();
    for (number, (blow, embedded)) in (0..count).zip(pairs.into_iter().cycle()) {
        eprintln!("instant {number} (seed {seed})");
        let since = if number % 2 == 0 { Since::AllFaults } else { Since::FirstBroker };
        all.push((blow, undone_after(blow, embedded, since, &mut chance)));
    }
    let mut claims = Claims::default();
    for blow in blows {
        let of: Vec<_> = all.iter().filter(|(it, _)| *it == blow).map(|(_, it)| it).collect();
        let Some(worst) = of.iter().max_by_key(|it| it.took) else { continue };
        let late = of.iter().filter(|it| !it.in_time()).count();
        let (took, most) = (worst.took.as_secs_f64(), worst.most.as_secs());
        let text = format!("{} times, {late} of them later, the latest {took:.2} s", of.len());
        let claim = format!("{blow:?}: nothing paused, cut, stopped or running {most} s after it");
        claims.add(claim, text, late == 0);
    }
    let text = format!(
        "random instants of a run with a member paused, one cut off, one with a wrong clock and \
         two brokers struck, at half of which all of that was in force (seed {seed})"
    );
    append("undone", &folder, &Row::without_trials(count, &text), &claims);
    claims.hold();
}

#[test]
#[ignore = "takes a minute: tests/measure resources"]
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
    let percent = |share: f64| format!("{share:.1} %");
    claims.add("each of 6 members below 5 % of a core", percent(member), member < 5.0);
    let text = format!("{:.1} MB", resident * 1.048_576);
    claims.add("each below 30 MB", text, resident * 1.048_576 < 30.0);
    claims.add("each of 2 brokers below 10 % of a core", percent(broker), broker < 10.0);
    let text = format!(
        "at most, a broker {broker_resident:.1} MiB; the controller {:.1} % and {:.1} MiB",
        controller.core_percent, controller.resident_mib
    );
    append("resources", &folder, &Row::without_trials(1, &text), &claims);
    claims.hold();
}
