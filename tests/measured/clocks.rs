//! Members whose wall clocks are wrong: seen from outside, and of no consequence.

#![allow(clippy::as_conversions, clippy::cast_precision_loss, reason = "a test may fail loudly")]

use support::experiment::{Experiment, Finished};
use support::measured::{measured, require};
use tandem::observation::{MemberEvent, RunEvent, What};
use tandem::time::Mono;

/// How far ahead of the truth the clocks of members were whenever they said it, in milliseconds;
/// the truth is what the journal's header says of both clocks.
fn off(run: &Finished) -> Vec<(Mono, f64)> {
    let recording = run.recording();
    let (zero, wall) = (recording.header.zero, recording.header.zero_wall);
    let said = recording.facts.iter().filter_map(|fact| match fact.what {
        What::Member(MemberEvent::Clock { wall }) => Some((fact.t, wall)),
        _ => None,
    });
    let truth = |at: Mono| wall.0 as f64 + (at.0 - zero.0) as f64 / 1e6;
    said.map(|(at, said)| (at, said.0 as f64 - truth(at))).collect()
}

/// What the clocks said while the fault was in force, and what they said last.
fn within(run: &Finished) -> (Vec<(Mono, f64)>, f64) {
    let facts = run.recording().facts;
    let in_force =
        facts.iter().find(|fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. })));
    let healed =
        facts.iter().find(|fact| matches!(fact.what, What::Run(RunEvent::FaultHealed { .. })));
    let (from, until) = (in_force.unwrap().t, healed.unwrap().t);
    let off = off(run);
    assert!(off.iter().all(|(at, _)| (from..=until).contains(at)), "{off:?}\n{run}");
    let last = off.last().unwrap().1;
    (off[..off.len() - 1].to_vec(), last)
}

fn shifted(how: &str) -> Option<Finished> {
    let text = format!(
        "version: 1\nname: shifted\nmethod:\n  - {{at: 300ms, fault: clock, for: 3s, target: \
         {{leader_of: any, group: any}}, {how}}}\nassert:\n  - joint.gap.max == 0ms\n  - \
         group.gap.max == 0ms\n  - group.overlap.max == 0ms\n"
    );
    // No gap, no overlap: claims rest on monotonic time.
    measured(
        || Experiment::of("shifted.yaml", &text),
        |run| require(run.code() == Some(0), || "it passes".to_owned()),
    )
}

/// Two clocks are read one after the other, in milliseconds.
const NEAR_MS: f64 = 20.0;

#[test]
fn a_clock_that_is_ahead_is_ahead_until_it_is_set_right() {
    let Some(run) = shifted("ahead: 2s") else { return };
    let (off, last) = within(&run);
    assert!(off.len() >= 10, "it says so again and again: {off:?}");
    assert!(off.iter().all(|(_, ms)| (ms - 2_000.0).abs() < NEAR_MS), "{off:?}\n{run}");
    assert!(last.abs() < NEAR_MS, "{last}\n{run}");
}

#[test]
fn a_clock_that_is_behind_and_fast_catches_up() {
    let Some(run) = shifted("behind: 1s, drift: 100000ppm") else { return };
    let (off, last) = within(&run);
    let ((from, first), (until, end)) = (off[0], off[off.len() - 1]);
    assert!((first + 1_000.0).abs() < NEAR_MS, "{off:?}\n{run}");
    // A tenth of a second each second.
    let caught = (until.0 - from.0) as f64 / 1e7;
    assert!(caught > 150.0 && (end - first - caught).abs() < NEAR_MS, "{off:?}\n{run}");
    assert!(last.abs() < NEAR_MS, "{last}\n{run}");
}

#[test]
fn a_clock_that_steps_is_off_and_right_in_turn() {
    let Some(run) = shifted("ahead: 1h, step_every: 700ms") else { return };
    let (off, last) = within(&run);
    let near = |ms: f64, wanted: f64| (ms - wanted).abs() < NEAR_MS;
    let there = off.iter().filter(|(_, ms)| near(*ms, 3_600_000.0)).count();
    let back = off.iter().filter(|(_, ms)| near(*ms, 0.0)).count();
    assert!(there > 0 && back > 0 && there + back == off.len(), "{off:?}\n{run}");
    assert!(last.abs() < NEAR_MS, "{last}\n{run}");
}
