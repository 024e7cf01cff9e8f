//! Limits that hold: journals larger than the memory there is, and as many descriptors as the
//! system gives.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use support::experiment::{eventually, tandem};
use support::facts::{Story, brief, fault, plan};
use support::recorded;
use tandem::journal::{Bounds, Journal, Rolling, SIZE_MAX, list_parts};
use tandem::observation::{Fact, RunEvent};
use tandem::time::Mono;
use tandem::verdict::Report;

/// Trials of so many seconds, in each of which the leader of `p1` is killed in the middle and
/// succeeded a second later, while `p2` serves all the time; each fact is handed on, none is kept.
fn produce(trials: u32, seconds: u64, mut put: impl FnMut(&Fact)) {
    let mut story = Story::default();
    story.started("p1-2.1", 10).started("p2-1.1", 10);
    let mut put_all = |story: &mut Story| {
        let mut facts = std::mem::take(&mut story.facts);
        facts.sort_by_key(|fact| fact.t);
        facts.iter().for_each(&mut put);
    };
    for number in 1..=trials {
        let base = u64::from(number) * (seconds * 1_000 + 10_000);
        let (dies, ends) = (base + seconds * 500, base + seconds * 1_000);
        let (victim, id) = (format!("p1-1.{number}"), format!("{number}.k"));
        story.started(&victim, base + 10).serves(&victim, 0, 1, [base + 100, dies - 10]);
        story.serves("p2-1.1", 0, number, [base + 100, ends + 900]);
        story.lapsed("p2-1.1", ends + 900, (0, number), ends + 900);
        story.began(base + 500, number);
        story.asked(&victim, dies, &id, "kill").died(&victim, dies + 3);
        story.of(&victim, dies + 3, RunEvent::FaultInForce { fault: fault(&id) });
        story.serves("p1-2.1", 0, number, [dies + 1_000, ends + 900]);
        story.lapsed("p1-2.1", ends + 900, (0, number), ends + 900);
        story.settled("p1", ends - 1_000).ended(ends, number);
        put_all(&mut story);
    }
    story.completed((u64::from(trials) + 1) * (seconds * 1_000 + 10_000));
    put_all(&mut story);
}

/// `tandem report` in an address space of so many MiB.
fn report(folder: &Path, mib: u64) -> Output {
    let script = format!("ulimit -v {}; exec \"$0\" report \"$1\"", mib * 1_024);
    Command::new("bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_tandem")])
        .arg(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let journals = files.filter(|it| it.file_name().to_string_lossy().starts_with("journal"));
    journals.map(|it| it.metadata().unwrap().len()).sum()
}

/// Every trial was judged, and its gap found.
fn is_judged(folder: &Path, said: &Output, trials: u32) {
    let text = String::from_utf8_lossy(&said.stdout);
    let error = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(0), "{:?}\n{text}\n{error}", said.status);
    let json = fs::read(folder.join("result.json")).unwrap();
    let report: Report = serde_json::from_slice(&json).unwrap();
    assert_eq!(report.trials, trials);
    assert_eq!(report.faults.len(), usize::try_from(trials).unwrap());
    assert!(text.contains("1000"), "each gap has 1000 ms:\n{text}");
    assert!(folder.join("report.html").exists() && folder.join("junit.xml").exists());
}

/// A process maps up to 80 MiB before it reads anything; the facts of the journal would take more
/// than the rest.
const SPACE_MIB: u64 = 96;

#[test]
fn a_journal_is_judged_in_less_memory_than_it_takes_on_the_disk() {
    let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    let brief = brief(&plan, 2, &[]);
    let (one, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // As `chaos run` writes it, in one file, and as `up` does, in several.
    let header = recorded::header("large", &plan, &brief);
    let mut journal = Journal::create(&one.path().join("journal.jsonl"), &header).unwrap();
    let bounds = Bounds { size: 4 << 20, files: 100 };
    let mut rolling = Rolling::create(many.path(), header, bounds).unwrap();
    produce(2, 1_500, |fact| {
        journal.append(fact).unwrap();
        rolling.append(fact.t, fact);
    });
    assert!(list_parts(many.path()).unwrap().len() > 1);
    for folder in [one.path(), many.path()] {
        assert!(size(folder) > 16 << 20, "{}", size(folder));
        is_judged(folder, &report(folder, SPACE_MIB), 2);
    }
}

/// By hand: `cargo test --release --test files -- --ignored --nocapture gib`; takes 4 GiB of disk.
#[test]
#[ignore = "writes 4 GiB; takes an hour without --release"]
fn a_journal_of_nearly_four_gib_is_judged() {
    const SECONDS: u64 = 1_060;
    let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    let journal = |trials| {
        let folder = tempfile::tempdir().unwrap();
        let header = recorded::header("four-gib", &plan, &brief(&plan, trials, &[]));
        let mut journal = Journal::create(&folder.path().join("journal.jsonl"), &header).unwrap();
        produce(trials, SECONDS, |fact| journal.append(fact).unwrap());
        folder
    };
    // As many trials as a journal has room for. Later ones are longer, for they have more digits.
    let trial = size(journal(1).path());
    let trials = u32::try_from(SIZE_MAX * 9 / 10 / trial).unwrap();
    let folder = journal(trials);
    let began = Mono::now(); // clock: printed, by hand
    let said = report(folder.path(), SPACE_MIB);
    let took = Mono::now().since(began); // clock: as above
    is_judged(folder.path(), &said, trials);
    println!("{} bytes in {took:?}, in an address space of {SPACE_MIB} MiB", size(folder.path()));
    assert!(size(folder.path()) > SIZE_MAX * 9 / 10, "{trial} bytes a trial");
}

/// The soft and the hard limit of a process, once it is ours.
fn limits(pid: u32) -> Option<(String, String)> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    if name.trim_end() != "tandem" {
        return None;
    }
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = text.lines().find(|line| line.starts_with("Max open files"))?;
    let mut words = line.split_whitespace().skip(3).map(str::to_owned);
    Some((words.next()?, words.next()?))
}

#[test]
fn a_process_takes_as_many_descriptors_as_the_system_gives() {
    let mut broker = Command::new("bash")
        .args(["-c", "ulimit -Sn 256; exec \"$0\" broker --listen 127.0.0.1:0 --until-eof"])
        .arg(env!("CARGO_BIN_EXE_tandem"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let found = eventually("the raised limit", Duration::from_secs(60), || {
        limits(broker.id()).filter(|(soft, _)| soft != "256")
    });
    drop(broker.stdin.take());
    assert!(broker.wait().unwrap().success());
    assert_eq!(found.0, found.1, "as many as it may have");
}

#[test]
fn a_doctor_says_where_a_process_may_not_open_enough() {
    let state = tempfile::tempdir().unwrap();
    let doctor = |hard: u32| {
        let script = format!("ulimit -n {hard}; exec \"$0\" doctor -f topologies/thousand.yaml");
        let mut shell = Command::new("bash");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_tandem")]);
        shell.current_dir(env!("CARGO_MANIFEST_DIR")).env("XDG_STATE_HOME", state.path());
        let said = shell.env("NO_COLOR", "1").output().unwrap();
        (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned())
    };
    // Fifteen members: 3 each and 128 beside, or in the edges 20 each.
    for (hard, word, code) in [(150, "fail", 1), (200, "warn", 0), (1_024, "ok", 0)] {
        let (ended, said) = doctor(hard);
        let limit = format!("a process may open {hard} files");
        let line = said.lines().find(|line| line.contains(&limit)).unwrap_or_default();
        assert!(line.starts_with(word), "{hard}: {said}");
        assert_eq!(ended, Some(code), "{hard}: {said}");
    }
    assert!(tandem(state.path()).arg("doctor").output().unwrap().status.success());
}
