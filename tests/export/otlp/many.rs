//! A run with many spans: all arrive. `tests/measure spans` has a hundred thousand.

use tandem::verdict::Report;
use tempfile::TempDir;

use crate::otlp::agrees::{named, spans_agree};
use crate::otlp::receiver::{Kept, Receiver};
use crate::otlp::trouble::export;
use support::facts::{Story, brief, plan};
use support::recorded::record;

/// Roles, each on a partition of its own.
const ROLES: u32 = 64;
/// Spans of each trial: the root; and for each role a term, and before and after it a gap of the
/// group and a joint one.
const A_TRIAL: usize = 1 + ROLES as usize * 5;

/// A run of so many trials, in each of which one member claims everything for a while.
pub(crate) fn written(trials: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(ROLES, &[("p1", ROLES, 1)]);
    let mut story = Story::default();
    let partitions: Vec<_> = (0..ROLES).collect();
    story.started("p1-1.1", 1);
    for trial in 1..=trials {
        let began = u64::from(trial) * 1_000;
        story.began(began, trial);
        for partition in 0..ROLES {
            story.claimed("p1-1.1", partition, trial, [began + 300, began + 400]);
        }
        story.ticks("p1-1.1", &partitions, [began + 300, began + 400]);
        for partition in 0..ROLES {
            story.lapsed("p1-1.1", began + 400, (partition, trial), began + 400);
        }
        story.ended(began + 900, trial);
    }
    story.completed(u64::from(trials + 1) * 1_000);
    record(folder.path(), &plan, &brief(&plan, trials, &[]), &story.facts);
    folder
}

/// How many spans such a run has.
pub(crate) fn spans(trials: u32) -> usize {
    1 + trials as usize * A_TRIAL
}

#[test]
fn twenty_thousand_spans_arrive() {
    // Twice as many as may wait one by one, in twenty requests.
    let trials = 63;
    assert!(spans(trials) > 20_000);
    for grpc in [false, true] {
        let make = if grpc { Receiver::grpc } else { Receiver::http };
        let receiver = make(Kept::default(), None);
        let folder = written(trials);
        let protocol = if grpc { "grpc" } else { "http/protobuf" };
        let done = export(folder.path(), &receiver, protocol);
        assert_eq!(done.0, Some(0), "{}", done.1);
        let got = receiver.spans();
        assert_eq!(got.len(), spans(trials), "{}", done.1);
        assert_eq!(named(&got, "chaos.trial").len(), trials as usize);
        let text = std::fs::read(folder.path().join("result.json")).unwrap();
        let report: Report = serde_json::from_slice(&text).unwrap();
        let sent = report.telemetry.unwrap();
        assert_eq!((sent.spans, sent.spans_lost, sent.logs_lost), (got.len() as u64, 0, 0));
    }
}

#[test]
fn made_up_runs_are_exported_as_their_journals_say() {
    let receiver = Receiver::http(Kept::default(), None);
    let folder = written(3);
    let done = export(folder.path(), &receiver, "http/protobuf");
    assert_eq!(done.0, Some(0), "{}", done.1);
    let recording = tandem::journal::read(&folder.path().join("journal.jsonl")).unwrap();
    assert_eq!(receiver.spans().len(), spans(3));
    spans_agree(&recording, &receiver.spans());
}
