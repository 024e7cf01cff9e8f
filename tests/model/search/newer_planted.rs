//! Mistakes that members of the newer protocol could make in exclusive mode. The search finds a
//! story of each, and none where the mistake is taken out.

use std::time::Duration;

use super::holds;
use super::planted::is_found;
use super::setting::{Kind, Rule, Setting, TICK};

/// For claims alone.
fn scene(rule: Rule, faults: u8, kinds: &'static [Kind]) -> Setting {
    Setting { rule, faults, kinds, settles: false, ..Setting::newer() }
}

fn joins(setting: Setting) -> Setting {
    Setting { members: 1, later: 1, ..setting }
}

#[test]
fn at_most_for_less_than() {
    let sound = scene(Rule::Proved, 1, &[Kind::Deposed]);
    let sound = Setting { commit: TICK * 7, ..sound };
    let threshold = sound.threshold + Duration::from_nanos(1);
    is_found("newer protocol: <= for <", Setting { threshold, ..sound }, sound);
}

/// The coordinator waits for a confirmation as long as for a heartbeat, and counts from when it
/// asked: what it hears meanwhile does not put that off.
#[test]
fn a_heartbeat_that_counts_while_a_revocation_is_outstanding() {
    let of = |rule| Setting { hold: TICK * 3, ..joins(scene(rule, 1, &[Kind::Cut])) };
    let name = "newer protocol: H while a revocation is outstanding";
    is_found(name, of(Rule::WhileRevoking), of(Rule::Proved));
}

#[test]
fn a_revocation_that_is_confirmed_before_its_claim_ends() {
    let of = |rule| joins(scene(rule, 1, &[Kind::Held]));
    let of = |rule| Setting { horizon: Some(8), ..of(rule) };
    is_found("newer protocol: a claim over a revocation", of(Rule::OverARejoin), of(Rule::Proved));
    let of = |rule| Setting { hold: TICK, ..joins(scene(rule, 0, &[])) };
    let name = "newer protocol: a confirmation within the hold";
    is_found(name, of(Rule::WithinTheHold), of(Rule::Proved));
}

/// The answer that was lost may have said that a partition is to be given up.
#[test]
fn an_answer_that_counts_after_a_lost_one() {
    let of = |rule| joins(scene(rule, 1, &[Kind::Broken]));
    let name = "newer protocol: counting after a lost answer";
    is_found(name, of(Rule::AfterALostAnswer), of(Rule::Proved));
}

#[test]
fn a_lowered_session_that_does_not_end_the_proof() {
    let of = |rule| scene(rule, 2, &[Kind::Lowered, Kind::Cut]);
    let name = "newer protocol: a lowered session";
    is_found(name, of(Rule::AnySession), of(Rule::Proved));
}

/// A heartbeat brings the lower session into force, and its answer does not say so. The one that
/// follows asks before it leads, and does not lead by a session that is too short.
#[test]
fn a_cut_just_after_the_session_was_lowered_gives_no_second_leader() {
    let sound = scene(Rule::Proved, 2, &[Kind::Lowered, Kind::Cut]);
    // A heartbeat leaves before the next question.
    let at_once = Setting { lull: 0, commit: TICK * 4, horizon: Some(12), ..sound };
    holds("newer protocol: a lowered session and a cut at once", at_once);
}

/// A Join names nothing and is accepted at any time: one that was given up and comes late gives
/// away what its member holds by then.
#[test]
fn a_heartbeat_that_was_given_up_and_comes_late() {
    let of = |rule| Setting { members: 0, later: 2, ..scene(rule, 1, &[Kind::Held]) };
    is_found("newer protocol: one id for all", of(Rule::UnderOneId), of(Rule::Proved));
}

/// A deposed coordinator answers heartbeats for ever.
#[test]
fn heartbeats_without_commits() {
    let of = |rule| Setting { commit: TICK * 7, ..scene(rule, 1, &[Kind::Deposed]) };
    is_found("newer protocol: H without A", of(Rule::HeartbeatsAlone), of(Rule::Proved));
}

/// A commit renews no session: the member's first one at the new coordinator says nothing of when
/// that began to wait for it.
#[test]
fn a_heartbeat_of_one_coordinator_with_a_commit_of_another() {
    let scene = |rule| scene(rule, 2, &[Kind::Deposed, Kind::Cut]);
    // A heartbeat is answered before a commit would be missed.
    let of = |rule| Setting { commit: TICK * 4, horizon: Some(11), ..scene(rule) };
    let name = "newer protocol: H and A of two coordinators";
    is_found(name, of(Rule::OfTwoCoordinators), of(Rule::Proved));
}
