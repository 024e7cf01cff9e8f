//! Stalls of the host that a test causes: real-time hogs on every processor. They disturb a trial,
//! independent of its outcome; a hog of the run's own does not, nor does a hanging member.

use std::fmt::Write;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Finished, LONELY, Running, eventually, signal_pid};
use support::facts::{brief, plan};
use support::measured::turn;
use support::recorded::header;
use tandem::controller::{Canary, Recorder};
use tandem::guard::Children;
use tandem::ids::TrialNumber;
use tandem::journal::{self, Journal};
use tandem::live::Live;
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Lateness, Processors};
use tandem::verdict::Verdict;

/// A hog is there for so long.
const HOG: Duration = Duration::from_millis(400);
/// It is found as such where it kept the instrument from running for so long.
const STALL: Duration = Duration::from_millis(50);
/// From when on a hog takes its processor, in nanoseconds since the boot.
const FROM: &str = "TANDEM_TEST_HOG";
/// Within this all hogs are there, however slowly the machine starts them.
const START_UP: Duration = Duration::from_millis(1_200);

/// Hogs, one a processor: `chrt` and `taskset` become this program, which runs the test `hog`.
fn hogs() -> Vec<Child> {
    let processors = std::thread::available_parallelism().unwrap().get();
    let from = Mono::now() + START_UP;
    let hog = |processor: usize| {
        let processor = processor.to_string();
        let mut command = Command::new("chrt");
        command.args(["--fifo", "50", "taskset", "--cpu-list", &processor]);
        command.arg(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "disturbed_live::hog", "--test-threads=1"]);
        command.env(FROM, from.0.to_string()).stdout(std::process::Stdio::null());
        command.spawn().unwrap_or_else(|error| panic!("chrt, of util-linux: {error}"))
    };
    (0..processors).map(hog).collect()
}

/// Waits for the hogs, which end by themselves.
fn ended(hogs: Vec<Child>) {
    for mut hog in hogs {
        let status = hog.wait().unwrap();
        assert!(status.success(), "a real-time priority takes root, or CAP_SYS_NICE: {status}");
    }
}

#[test]
#[ignore = "it is what the hogs of the other tests run"]
fn hog() {
    let from = std::env::var(FROM).expect("the other tests say from when on");
    let from = Mono(from.parse().unwrap());
    std::thread::sleep(from.since(Mono::now()));
    while Mono::now() < from + HOG {}
}

/// Whether the canary, which is a thread of this process, has slept and woken a few times.
fn has_woken() -> Option<()> {
    std::fs::read_dir("/proc/self/task").unwrap().flatten().find_map(|thread| {
        let read = |name: &str| std::fs::read_to_string(thread.path().join(name)).ok();
        let slices = read("schedstat")?.split_whitespace().nth(2)?.parse::<u64>().ok()?;
        (read("comm")?.trim() == "canary" && slices > 5).then_some(())
    })
}

/// What the canary of a run says while hogs take all processors.
fn canary(own: bool) -> Vec<Fact> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let plan = plan(1, &[("p1", 1, 1)]);
    let header = header("canary", &plan, &brief(&plan, 1, &[]));
    let record = Recorder::new(Journal::create(&path, &header).unwrap(), Live::new(&plan)).unwrap();
    let children = Arc::new(Children::default());
    let canary = Canary::start(Arc::new(record), Arc::clone(&children), false).unwrap();
    eventually("the canary", Duration::from_secs(60), has_woken);
    let hogs = hogs();
    if own {
        hogs.iter().for_each(|hog| children.add(hog.id()));
    }
    let facts = eventually("a stall", Duration::from_secs(60), || {
        let facts = journal::read(&path).ok()?.facts;
        let long = |fact: &&Fact| Lateness::of(fact).is_some_and(|it| it.span.length() > STALL * 2);
        let stall = facts.iter().find(long)?.seq;
        let is_late_report = |fact: &Fact| {
            matches!(fact.what, What::Run(RunEvent::Processors { .. })) && fact.seq > stall
        };
        facts.iter().any(is_late_report).then_some(facts)
    });
    drop(canary);
    ended(hogs);
    facts
}

/// The longest stall, and how much of it the host imposed.
fn longest(facts: &[Fact]) -> (Lateness, Duration) {
    let looks: Vec<Processors> = facts.iter().filter_map(Processors::of).collect();
    let stalls = facts.iter().filter_map(Lateness::of);
    let longest = stalls.max_by_key(|late| late.span.length()).unwrap();
    let imposed = longest.imposed(&looks);
    (longest, imposed)
}

#[test]
fn a_hog_of_others_imposes_a_stall() {
    let _turn = turn();
    let facts = canary(false);
    let (late, imposed) = longest(&facts);
    let waited = late.waited.expect("this kernel counts (CONFIG_SCHED_INFO)");
    assert!(waited * 2 > late.span.length(), "the canary waited: {late:?}");
    assert!(imposed > STALL && imposed * 2 > waited, "{imposed:?} of {late:?}\n{facts:#?}");
}

#[test]
fn a_hog_of_the_run_imposes_nothing() {
    let _turn = turn();
    let facts = canary(true);
    let (late, imposed) = longest(&facts);
    let waited = late.waited.expect("this kernel counts (CONFIG_SCHED_INFO)");
    assert!(waited * 2 > late.span.length(), "the canary waited: {late:?}");
    assert!(imposed * 3 < waited, "{imposed:?} of {late:?}\n{facts:#?}");
}

/// Waits until so long after a trial began.
fn into(run: &Running, trial: u32) {
    let wanted =
        |fact: &&Fact| fact.what == What::Run(RunEvent::TrialBegan { trial: TrialNumber(trial) });
    let began = run.await_facts("a trial", |facts| facts.iter().find(wanted).map(|fact| fact.t));
    let due = began + Duration::from_millis(300);
    std::thread::sleep(due.since(Mono::now()));
}

fn member(run: &Running) -> u32 {
    run.await_facts("the member", |facts| {
        facts.iter().find_map(|fact| match fact.what {
            What::Run(RunEvent::Started { pid, .. }) => Some(pid),
            _ => None,
        })
    })
}

/// The member hangs for so long.
fn hang(pid: u32, lasts: Duration) {
    signal_pid(pid, Signal::STOP);
    std::thread::sleep(lasts);
    signal_pid(pid, Signal::CONT);
}

/// Six trials that do nothing: hogs in the first and in the second, in which the member hangs for
/// too long as well; in the third it hangs alone, for less than may be.
fn planted() -> Finished {
    let mut text = String::from("version: 1\nname: hogs\ntrials: 4\nseed: 7\n");
    writeln!(text, "disturbed: {{stall: {}ms, replace: 3}}", STALL.as_millis()).unwrap();
    text.push_str("objective: {leaders_per_group: 0}\nmethod: [{fault: noop, for: 5s}]\n");
    text.push_str("assert: [group.gap.max <= 1500ms]\n");
    let order = Experiment::of("hogs.yaml", &text);
    let file = order.write("lonely.yaml", LONELY);
    let run = order.with(&format!("-f {}", file.display())).start();
    let pid = member(&run);
    into(&run, 1);
    ended(hogs());
    into(&run, 2);
    ended(hogs());
    hang(pid, Duration::from_millis(2_000));
    into(&run, 3);
    hang(pid, Duration::from_millis(700));
    run.finish()
}

#[test]
fn a_stall_disturbs_a_passing_trial_and_a_failing_one_and_neither_is_dropped() {
    let _turn = turn();
    let run = planted();
    let report = run.report();
    let of = report.disturbed.as_ref().unwrap();
    let trials: Vec<_> = of.trials.iter().map(|one| (one.trial.0, one.outcome)).collect();
    assert_eq!(trials.first(), Some(&(1, Verdict::Pass)), "{of:#?}\n{run}");
    assert_eq!(trials.get(1), Some(&(2, Verdict::Fail)), "{of:#?}\n{run}");
    let broke = |why: &String| why.contains("broke group.gap.max <= 1500ms");
    assert!(of.trials[1].reasons.iter().any(broke), "{of:#?}");
    assert_eq!(of.verdict_all, Verdict::Fail, "{run}");
    let replaced = u32::try_from(trials.len()).unwrap().min(3);
    assert_eq!(of.replaced, replaced, "each in the place of one: {of:#?}\n{run}");
    for text in ["trial 1: pass (", "trial 2: fail (", "over all "] {
        assert!(run.stdout.contains(text), "{text}: {run}");
    }
    let journal = run.recording().facts;
    let ended = journal
        .iter()
        .filter(|fact| matches!(fact.what, What::Run(RunEvent::TrialEnded { .. })))
        .count();
    assert_eq!(ended, usize::try_from(4 + replaced).unwrap(), "all are in the journal: {run}");
    let late = |fact: &&Fact| {
        matches!(fact.what, What::Member(MemberEvent::Late { .. })) && fact.life.is_some()
    };
    assert!(journal.iter().any(|fact| late(&fact)), "the member says that it was late: {run}");
    let began = journal
        .iter()
        .find(|fact| fact.what == What::Run(RunEvent::TrialBegan { trial: TrialNumber(3) }));
    let began = began.expect("trial 3").t;
    let hung = journal.iter().filter(|fact| fact.life.is_some() && fact.t > began);
    let hung = hung.filter_map(Lateness::of).max_by_key(|late| late.span.length()).unwrap();
    assert!(hung.span.length() >= Duration::from_millis(600), "the member hung: {hung:?}");
    assert!(
        hung.waited.unwrap() * 2 < hung.span.length(),
        "it waited for no other process: {hung:?}"
    );
    // What else this machine did meanwhile decides whether two are more than a third.
    let third = trials.len() * 3 > ended;
    let verdict = if third { Verdict::Unknown } else { Verdict::Pass };
    assert_eq!((report.verdict, run.code()), (verdict, Some(if third { 4 } else { 0 })), "{run}");
    assert_eq!(run.judged_again().status.code(), run.code());
}
