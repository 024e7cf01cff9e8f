//! The report on a topology that is kept up: in words of its own, by its objective alone, so far or
//! to its end, and never against what `tandem status` says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, output, signal_pid, tandem};
use support::facts::{Story, plan_apart};
use support::outside::lone_leader;
use support::recorded::{kills, record, up as header_of_up};
use support::up::Up;
use support::waiting::eventually_ok;
use tandem::ids::GroupName;
use tandem::journal::{Header, Journal, Part};
use tandem::live_view::Level;
use tandem::observation::{Outcome, RunEvent};
use tandem::time::{Mono, Span};
use tandem::verdict::{CauseKind, Report, Ruling, Verdict};

const SOON: Duration = Duration::from_secs(60);

/// No host makes a session expire, or breaks the promise; a death is known at once.
const DUO: &str = "-f topologies/duo.yaml --set defaults.session=30s \
                   --set defaults.heartbeat=100ms --set defaults.on_death=leave \
                   --set defaults.restart.after=1s --set objective.joint_gap=10m";

/// What is said of experiments, and of nothing that is kept up. No number is among them: a gap or
/// an overlap may have any digits.
const WORDS: [&str; 6] = ["trial", "seed", "showing", "bound", "FAIL", "PASS"];

fn said(state: &Path, run: &Path) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = output(tandem(state).arg("report").arg(run));
    let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    assert!(status.code().is_some(), "the report on {} {status}: {text}", run.display());
    (status.code(), text.into_owned())
}

fn result(run: &Path) -> Report {
    serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap()
}

/// The page has its own wording, and the files that it names exist.
fn is_plain(text: &str) {
    // The name of a temporary folder is drawn at random, and may have such a word in it.
    let words = text.split_whitespace().filter(|word| !word.contains('/'));
    for word in words {
        assert!(!WORDS.iter().any(|wrong| word.contains(wrong)), "{word}: {text}");
    }
    let mut files = 0;
    for word in text.split_whitespace().filter(|word| word.contains('/')) {
        assert!(Path::new(word).exists(), "{word} is named and not there: {text}");
        files += 1;
    }
    assert!(files >= 3, "{text}");
}

#[test]
fn a_member_killed_from_outside_is_the_cause_and_report_agrees_with_status() {
    let mut up = Up::start(DUO);
    let group = |name: &str| name.parse::<GroupName>().unwrap();
    // Right after a start another member may still claim what the victim leads.
    let (life, pid) = lone_leader(&up, &group("p1"));
    signal_pid(pid, Signal::KILL);
    eventually("a gap of p1 that is final, and all led", SOON, || {
        let picture = up.status().1?;
        let seen = picture.groups[&group("p1")].counts.gaps > 0;
        (seen && picture.health == Level::Led).then_some(())
    });
    // What was judged is a second old, so it is waited for, and so is what both say of it.
    let (code, text, report) = eventually_ok("a report with that death", SOON, || {
        let (code, text) = said(up.state(), &up.out);
        let report = result(&up.out);
        let found = report.groups[&group("p1")].other.death.gap.count > 0;
        if found { Ok((code, text, report)) } else { Err(format!("{life} is killed\n{text}")) }
    });
    assert!(report.up.as_ref().unwrap().goes_on, "{text}");
    assert!(text.contains(" SO FAR duo: judged for "), "{text}");
    assert!(text.contains("/journal-000001.jsonl"), "{text}");
    is_plain(&text);
    let wanted = match report.verdict {
        Verdict::Pass => 0,
        Verdict::Fail => 3,
        Verdict::Unknown => 4,
    };
    assert_eq!(code, Some(wanted), "{text}");
    assert!(text.contains("\n  death "), "{text}");
    let page = fs::read_to_string(up.out.join("report.html")).unwrap();
    assert!(page.contains(&format!("<td>the death of {life}</td>")), "{life} is named");
    eventually("report and status to agree", SOON, || {
        said(up.state(), &up.out);
        let (report, status) = (result(&up.out), up.status().1?);
        let agree = |promise: &tandem::live_view::Promise| {
            let same = |ruling: &&Ruling| ruling.text.starts_with(&promise.what);
            match report.objective.iter().find(same).unwrap().outcome {
                Verdict::Pass => promise.kept,
                Verdict::Fail => !promise.kept,
                Verdict::Unknown => true,
            }
        };
        assert!(!status.objective.is_empty());
        status.objective.iter().all(agree).then_some(())
    });

    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let (_, text) = said(up.state(), &up.out);
    // What a member that hung did right before its death is unknown.
    let word = match result(&up.out).verdict {
        Verdict::Pass => "KEPT",
        Verdict::Fail => "NOT KEPT",
        Verdict::Unknown => "UNKNOWN",
    };
    let first = format!("{word} duo: judged for ");
    assert!(text.starts_with(&first) && !text.contains("SO FAR"), "{text}");
    is_plain(&text);
    let page = fs::read_to_string(up.out.join("report.html")).unwrap();
    let page = page.split("<script").next().unwrap();
    for word in
        ["Seed", "What each fault may cost", "of such trials", "no group had a gap", "id=\"trial\""]
    {
        assert!(!page.contains(word), "{word}");
    }
    let ends = ["h1", "span"].map(|element| format!("{word}</{element}>"));
    assert!(ends.iter().any(|end| page.contains(end)), "{word}: {page}");
    let junit = fs::read_to_string(up.out.join("junit.xml")).unwrap();
    assert!(!junit.contains("seed") && !junit.contains("trial"), "{junit}");
}

/// What such a run writes, and where.
fn written(folder: &Path, part: Option<Part>, story: &Story, joint_gap: u64) -> PathBuf {
    let mut plan = plan_apart(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    plan.objective.joint_gap = Some(Span::ms(joint_gap));
    let mut header: Header = header_of_up(&plan);
    (header.brief.experiment, header.part) = ("up".to_owned(), part);
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    fs::create_dir_all(folder).unwrap();
    let path = folder.join("journal-000001.jsonl");
    let mut journal = Journal::create(&path, &header).unwrap();
    for fact in &story.facts {
        journal.append(fact).unwrap();
    }
    path
}

/// Both groups lose their only member at 5 s, and lead again at 6 s.
fn both_die(end: impl FnOnce(&mut Story)) -> Story {
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p2-1.1", 10).began(500, 1);
    for who in ["p1-1", "p2-1"] {
        let (one, two) = (format!("{who}.1"), format!("{who}.2"));
        story.serves(&one, 0, 1, [100, 5_000]).died(&one, 5_000).started(&two, 5_500);
        story.serves(&two, 0, 1, [6_000, 9_000]);
    }
    end(&mut story);
    story
}

fn completed(story: &mut Story) {
    story.ended(8_900, 1).completed(9_000);
}

const PART: Part =
    Part { number: 1, carried: 0, from: Mono::ZERO, after_loss: false, changed: false };

#[test]
fn it_is_judged_by_its_objective() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    for (allowed, word, code) in [(500, "NOT KEPT pricing", 3), (1_500, "KEPT pricing", 0)] {
        written(&run, Some(PART), &both_die(completed), allowed);
        let (exit, text) = said(folder.path(), &run);
        assert!(text.starts_with(word), "{text}");
        assert_eq!(exit, Some(code), "{text}");
        assert!(text.contains("\n  death "), "{text}");
        assert!(text.contains("after the death of p1-1.1"), "{text}");
        is_plain(&text);
        let report = result(&run);
        let worst = &report.worst[0];
        assert_eq!((worst.cause, worst.by.as_deref()), (CauseKind::Death, Some("p1-1.1")));
        let texts: Vec<_> = report.objective.iter().map(|ruling| ruling.text.as_str()).collect();
        assert_eq!(texts, [format!("joint_gap <= {}", Span::ms(allowed))]);
    }
}

#[test]
fn a_cut_off_run_is_unknown_unless_a_promise_was_broken_before() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let judged = |story: &Story, allowed: u64| {
        written(&run, Some(PART), story, allowed);
        said(folder.path(), &run)
    };
    let (code, text) = judged(&both_die(|_| {}), 1_500);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.starts_with("UNKNOWN pricing") && text.contains("It was cut off"), "{text}");
    let (code, text) = judged(&both_die(|_| {}), 500);
    assert_eq!(code, Some(3), "{text}");
    let broken = both_die(|story| {
        let why = Some("its broker died too often".to_owned());
        story.ended(8_900, 1).run(9_000, RunEvent::Ended { how: Outcome::Broken, why });
    });
    let (code, text) = judged(&broken, 1_500);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("It could not go on: its broker died too often."), "{text}");
    let mut never = Story::default();
    never.started("p1-1.1", 10).completed(9_000);
    let (code, text) = judged(&never, 1_500);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("Not every group has led every role yet"), "{text}");
    is_plain(&text);
}

#[test]
fn one_file_of_several_is_judged_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let closed = both_die(|story| {
        let trial = tandem::ids::TrialNumber(1);
        story.run(9_000, RunEvent::TrialEnded { trial, recovered: None });
    });
    let path = written(&run, Some(PART), &closed, 1_500);
    let (code, text) = said(folder.path(), &path);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("KEPT pricing") && !text.contains("cut off"), "{text}");
    is_plain(&text);
}

#[test]
fn the_folder_of_a_suite_is_exported_run_by_run() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_apart(1, &[("p1", 1, 4), ("p2", 1, 1)]);
    let suite = folder.path().join("suite-1");
    for run in ["01-kill", "02-kill"] {
        let brief = support::facts::brief(&plan, 1, &[]);
        record(&suite.join(run), &plan, &brief, &kills(&[900]).facts);
    }
    fs::write(suite.join("suite.json"), "{}").unwrap();
    // There is no listener: each run is tried, and reported by its own name.
    let mut export = tandem(folder.path());
    export.arg("export").arg(&suite).args(["--otlp", "http://127.0.0.1:9", "--within", "2s"]);
    let Output { status, stderr, .. } = output(&mut export);
    let stderr = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(1), "{stderr}");
    for run in ["suite-1/01-kill: ", "suite-1/02-kill: "] {
        assert!(stderr.contains(run), "{stderr}");
    }
    assert!(!stderr.contains("cannot open the journal"), "{stderr}");
}
