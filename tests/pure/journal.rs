//! The journal: facts are read back as appended, a torn tail is reported, anything else is refused
//! with its line.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use support::facts::{Story, brief, failed, fault, name, plan};
use support::recorded;
use tandem::ids::PartitionId;
use tandem::journal::{Header, Journal, JournalError, read};
use tandem::observation::{Fact, MemberEvent, Outcome, RefusedOrders, RunEvent};
use tandem::time::Mono;

fn header() -> Header {
    let plan = plan(2, &[("p1", 2, 2)]);
    recorded::header("kill-leader-1", &plan, &brief(&plan, 8, &["joint.gap.max == 0ms"]))
}

/// Every kind of fact.
fn facts() -> Vec<Fact> {
    let mut story = Story::default();
    let (partitions, why) = (vec![PartitionId(0), PartitionId(1)], "it fled".to_owned());
    story.started("p1-1.1", 1).of("p1-1.1", 2, RunEvent::Stopped).of(
        "p1-1.1",
        3,
        RunEvent::Continued,
    );
    let refused = RefusedOrders { forged: 1, crowded: 2, ..RefusedOrders::default() };
    story.of("p1-1.1", 3, RunEvent::Orders { taken: 4, refused });
    story.says(
        "p1-1.1",
        4,
        MemberEvent::Assigned {
            generation: Some(1),
            member_id: Some("p1-1.1-x".to_owned()),
            partitions: partitions.clone(),
        },
    );
    story.says("p1-1.1", 5, MemberEvent::Revoked { partitions: partitions.clone() });
    story.says("p1-1.1", 6, MemberEvent::Lost { partitions });
    story.claimed("p1-1.1", 0, 1, [7, 9]).renewed("p1-1.1", 8, &[(0, 1, 11)]);
    story.lapsed("p1-1.1", 12, (0, 1), 11).ticks("p1-1.1", &[0], [7, 60]);
    story.says("p1-1.1", 13, MemberEvent::Hole { from: Mono(1), until: Mono(2) });
    let late = MemberEvent::Late { from: Mono(1), until: Mono(2), waited_ns: Some(1) };
    story.says("p1-1.1", 13, late);
    story.says("p1-1.1", 14, MemberEvent::Refused { why: "versions".to_owned() });
    story.says("p1-1.1", 14, MemberEvent::Leaving).asked("p1-1.1", 15, "1.k", "kill");
    story.run(16, RunEvent::FaultInForce { fault: fault("1.k") });
    story.run(17, RunEvent::FaultHealed { fault: fault("1.k") });
    story.run(18, failed("1.k", "kill", &why));
    story.run(19, RunEvent::Struck { fault: fault("1.k"), victims: 2, skew_ns: 5 });
    story.began(20, 1).ended(21, 1).settled("p1", 22).died("p1-1.1", 23);
    let address = "127.0.0.1:9092".to_owned();
    story.run(24, RunEvent::ClusterStarted { cluster: name("a"), address, pid: 9 });
    story.run(25, RunEvent::ClusterDied { cluster: name("a") });
    story.run(25, RunEvent::EdgesStarted { pid: 10 }).run(25, RunEvent::EdgesDied);
    let broker = "127.0.0.1:9092".to_owned();
    story.run(25, RunEvent::Reconnected { fault: fault("1.k"), broker });
    let (from, until) = (Mono(3), Mono(4));
    let used = RunEvent::Processors { from, until, busy_ns: 2, own_ns: 1, stolen_ns: 0 };
    story.run(26, used);
    story.run(26, RunEvent::Stall { from: Mono(3), until: Mono(4), waited_ns: None });
    story.run(27, RunEvent::Ended { how: Outcome::Aborted, why: Some("too long".to_owned()) });
    story.facts
}

/// A journal of all facts in a folder of its own.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let mut journal = Journal::create(&path, &header()).unwrap();
    for fact in facts() {
        journal.append(&fact).unwrap();
    }
    (folder, path)
}

#[test]
fn written_facts_are_read_back() {
    let (_folder, path) = written();
    let recording = read(&path).unwrap();
    assert_eq!(recording.header, header());
    assert_eq!(recording.facts, facts());
    assert!(!recording.torn_tail);
}

#[test]
fn a_tail_torn_anywhere_costs_one_fact() {
    let (_folder, path) = written();
    let whole = fs::read(&path).unwrap();
    let last = whole.iter().rev().skip(1).position(|byte| *byte == b'\n').unwrap();
    for cut in 1..=last {
        fs::write(&path, whole.get(..whole.len() - cut).unwrap()).unwrap();
        let recording = read(&path).unwrap();
        assert!(recording.torn_tail, "{cut} bytes short");
        assert_eq!(recording.facts, facts().split_last().unwrap().1);
    }
}

#[test]
fn a_line_that_is_no_fact_is_refused_with_its_number() {
    let (_folder, path) = written();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{{\"t_ns\":1,\"seq\":1,\"never_heard_of\":{{}}}}").unwrap();
    let number = u64::try_from(facts().len()).unwrap() + 2;
    match read(&path) {
        Err(JournalError::Line { line, .. }) => assert_eq!(line, number),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_later_version_is_refused_with_any_content() {
    let (_folder, path) = written();
    fs::write(&path, "{\"journal\":3,\"other\":true}\n").unwrap();
    let error = read(&path).unwrap_err();
    assert!(matches!(error, JournalError::Newer { found: 3, known: 2, .. }), "{error}");
}

#[test]
fn an_earlier_version_is_refused_with_the_reason() {
    let (_folder, path) = written();
    fs::write(&path, "{\"journal\":1,\"other\":true}\n").unwrap();
    let error = read(&path).unwrap_err();
    assert!(matches!(error, JournalError::Older { found: 1, known: 2, .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("which lacks the class of each fault"), "{said}");
}

#[test]
fn no_header_is_no_journal() {
    let (_folder, path) = written();
    for text in ["", "{\"journal\":1"] {
        fs::write(&path, text).unwrap();
        assert!(matches!(read(&path), Err(JournalError::Empty { .. })), "{text:?}");
    }
    fs::write(&path, "hello\n").unwrap();
    assert!(matches!(read(&path), Err(JournalError::Line { line: 1, .. })));
    fs::remove_file(&path).unwrap();
    assert!(matches!(read(&path), Err(JournalError::File { action: "open", .. })));
}

#[test]
fn a_journal_is_never_written_over() {
    let (_folder, path) = written();
    let again = Journal::create(&path, &header());
    assert!(matches!(again, Err(JournalError::File { action: "create", .. })));
    assert_eq!(read(&path).unwrap().facts, facts());
}

#[test]
fn at_its_limit_it_refuses_and_stays_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let journal = Journal::create(&path, &header()).unwrap();
    let limit = fs::metadata(&path).unwrap().len() + 200;
    let mut journal = journal.with_limit(limit);
    let written = facts().iter().take_while(|fact| journal.append(fact).is_ok()).count();
    assert!(written > 0 && fs::metadata(&path).unwrap().len() <= limit);
    let error = journal.append(&facts().swap_remove(3)).unwrap_err();
    assert!(matches!(error, JournalError::Full { .. }), "{error}");
    let recording = read(&path).unwrap();
    assert_eq!((recording.facts.len(), recording.torn_tail), (written, false));
}

/// Where a file system of 64 KiB is mounted for the test below.
const SMALL: &str = "TANDEM_SMALL_DISK";

/// The disk is full, really: on a file system of its own, in a mount namespace that ends with the
/// process. That takes root, or a kernel that lets users have namespaces.
#[test]
fn a_full_disk_is_an_error_and_written_lines_stay_whole() {
    if let Some(disk) = std::env::var_os(SMALL) {
        return fills(Path::new(&disk));
    }
    let disk = tempfile::tempdir().unwrap();
    let mut unshare = Command::new("unshare");
    unshare.arg("--mount");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    let script = "mount -t tmpfs -o size=64k small \"$0\" || exit 77; exec \"$@\"";
    unshare.args(["sh", "-c", script]).arg(disk.path()).arg(std::env::current_exe().unwrap());
    let name = "journal::a_full_disk_is_an_error_and_written_lines_stay_whole";
    let done = unshare.args(["--exact", name, "--nocapture"]).env(SMALL, disk.path()).output();
    let done = done.expect("missing: unshare (util-linux)");
    let said = [done.stdout, done.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert!(done.status.code() != Some(77), "missing: root, or namespaces for users: {said:?}");
    assert!(done.status.success() && said[0].contains("1 passed"), "{said:?}");
}

/// Fills the disk, sees what is refused, makes room, and goes on.
fn fills(disk: &Path) {
    let path = disk.join("journal.jsonl");
    fs::write(disk.join("other"), vec![b'x'; 20 << 10]).unwrap();
    let mut journal = Journal::create(&path, &header()).unwrap();
    let mut written = Vec::new();
    let (error, refused) = loop {
        let next = facts().swap_remove(written.len() % facts().len());
        match journal.append(&next) {
            Ok(()) => written.push(next),
            Err(error) => break (error, next),
        }
        assert!(written.len() < 10_000, "64 KiB never fill");
    };
    let full = |error: &JournalError| match error {
        JournalError::File { action: "write to", source, .. } => {
            source.kind() == ErrorKind::StorageFull
        }
        _ => false,
    };
    assert!(full(&error), "{error:?}");
    assert!(written.len() > 100, "{}", written.len());
    // It stays full, and nothing of a line is left half written.
    let again = journal.append(&refused).unwrap_err();
    assert!(full(&again), "{again:?}");
    let recording = read(&path).unwrap();
    assert_eq!((recording.facts.len(), recording.torn_tail), (written.len(), false));
    assert_eq!(recording.facts, written);
    let other = Journal::create(&disk.join("other.jsonl"), &header()).unwrap_err();
    assert!(full(&other), "{other:?}");
    // Where there is room again, it goes on.
    fs::remove_file(disk.join("other")).unwrap();
    journal.append(&refused).unwrap();
    written.push(refused);
    assert_eq!(read(&path).unwrap().facts, written);
}
