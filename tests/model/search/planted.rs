//! Mistakes that members of the exclusive mode could make. The search finds a story of each in
//! which two members lead one partition, and finds none where the mistake is taken out.

use std::time::Duration;

use super::moves::ONCE;
use super::setting::{Kind, Rule, Setting};
use super::{holds, search};

/// The search finds that two lead where a mistake is planted, and only there.
pub(super) fn is_found(name: &str, mistaken: Setting, sound: Setting) {
    let story = search(&format!("{name}, planted"), mistaken).unwrap_or_default();
    eprintln!("{story}");
    assert!(story.starts_with(&format!("not: {ONCE}")), "{name}: not found: {story}");
    holds(&format!("{name}, taken out"), sound);
}

/// No more than a few kinds of faults, and no look at what becomes of the group: this is for its
/// claims alone.
fn scene(rule: Rule, faults: u8, kinds: &'static [Kind]) -> Setting {
    Setting { rule, faults, kinds, settles: false, ..Setting::exclusive() }
}

fn joins(setting: Setting) -> Setting {
    Setting { members: 1, later: 1, ..setting }
}

/// A claim ends at `V[k] + T`: it holds while `now - V[k] < T`. A nanosecond more makes that `<=`
/// on the instants of this model.
#[test]
fn at_most_for_less_than() {
    let sound = scene(Rule::Proved, 1, &[Kind::Deposed]);
    let threshold = sound.threshold + Duration::from_nanos(1);
    is_found("<= for <", Setting { threshold, ..sound }, sound);
}

/// The coordinator counts a session from when a request came, and its answer may be late.
#[test]
fn a_request_that_counts_from_its_answer() {
    let kinds = &[Kind::Held, Kind::Deposed];
    let sound = Setting { horizon: Some(12), ..scene(Rule::Proved, 2, kinds) };
    let mistaken = Setting { rule: Rule::FromTheAnswer, ..sound };
    is_found("a request from its answer", mistaken, sound);
}

#[test]
fn a_claim_that_is_kept_over_a_rejoin() {
    let sound = joins(scene(Rule::Proved, 0, &[]));
    is_found("a claim over a rejoin", joins(scene(Rule::OverARejoin, 0, &[])), sound);
}

/// What one generation assigned must not be claimed by the proof of another.
#[test]
fn an_assignment_of_a_former_generation() {
    let sound = joins(scene(Rule::Proved, 0, &[]));
    is_found("a former assignment", joins(scene(Rule::AssignmentBefore, 0, &[])), sound);
}

/// A deposed coordinator answers heartbeats for ever.
#[test]
fn heartbeats_without_commits() {
    let kinds = &[Kind::Deposed];
    let sound = scene(Rule::Proved, 1, kinds);
    is_found("H without A", scene(Rule::HeartbeatsAlone, 1, kinds), sound);
}

/// A coordinator accepts the commits of a member for which a rebalance waits in vain.
#[test]
fn commits_without_heartbeats() {
    let kinds = &[Kind::Cut];
    let sound = joins(scene(Rule::Proved, 1, kinds));
    is_found("A without H", joins(scene(Rule::CommitsAlone, 1, kinds)), sound);
}

/// The other way round than above, a mistake is harmless: a proof of the generation before is older
/// than the assignment that it is taken for, and so promises less than a new one would. The
/// coordinator gave the member a session when this generation began, which is later.
#[test]
fn a_proof_of_the_generation_before_promises_less() {
    holds("two members, a former proof", scene(Rule::ProofBefore, 1, &Kind::ALL));
    let joins = joins(scene(Rule::ProofBefore, 1, &[Kind::Deposed]));
    holds("a member and one that joins, a former proof", joins);
}
