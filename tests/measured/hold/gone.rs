//! A referee outside Tandem, to which commands and what they leave behind report each few
//! milliseconds: all of a command is gone before its promise ends when its member is cut off, and
//! before another one leads when `tandem hold` is killed. Of what nothing ends, it learns.

use std::thread::scope;

use rustix::process::Signal;
use support::experiment::signal_pid;
use support::measured::turn;
use support::quiet::undisturbed;
use support::referee::Reporter;
use support::wrapped::{Blow, KINDS, Pair, STALL, Stage, Trial};

/// Of each kind of command.
const TRIALS: usize = 3;

/// Plays trials of each kind side by side; those that count are right.
fn play(blow: Blow) -> Vec<Trial> {
    let _turn = turn();
    let stage = Stage::start(KINDS.len());
    let trials: Vec<Trial> = scope(|scope| {
        let play = |(at, kind): (usize, &&'static str)| {
            let (stage, kind) = (&stage, *kind);
            scope.spawn(move || Pair::start(stage, at, kind).trials(blow, TRIALS))
        };
        let all: Vec<_> = KINDS.iter().enumerate().map(play).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    let counted = trials.iter().filter(|trial| trial.counts());
    let wrong: Vec<String> =
        counted.filter(|trial| !trial.is_right()).map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let found = stage.overlaps();
    let disturbed = trials.iter().any(|trial| !trial.counts());
    assert!(found.is_empty() || disturbed, "at the same time: {found:#?}");
    trials
}

/// How many trials of a kind count.
fn counted(trials: &[Trial], kind: &str) -> usize {
    trials.iter().filter(|trial| trial.kind == kind && trial.counts()).count()
}

/// As many trials of each kind as are wanted count, unless the host stalled in others, of which
/// there are as many.
fn all_are_right(blow: Blow) {
    let is_disturbed = |trials: &Vec<Trial>| {
        let stalled = |kind| trials.iter().any(|it| it.kind == kind && it.stalled >= STALL);
        KINDS.into_iter().any(|kind| counted(trials, kind) < TRIALS && stalled(kind))
    };
    let shown = |trials: &Vec<Trial>| trials.iter().map(|trial| format!("{trial}\n")).collect();
    let Some(trials) = undisturbed(|| play(blow), is_disturbed, shown) else { return };
    for kind in KINDS {
        let count = counted(&trials, kind);
        assert!(count == TRIALS, "{count} trials of one that {kind} count: {trials:#?}");
    }
}

#[test]
fn a_command_and_all_that_it_left_are_gone_before_the_promise_of_a_member_cut_off_ends() {
    all_are_right(Blow::Cut);
}

#[test]
fn no_successor_works_before_the_command_of_a_killed_wrapper_and_all_that_it_left_are_gone() {
    all_are_right(Blow::Kill);
}

/// With wrapper and keeper killed at once, nothing is left to end what has detached itself.
#[test]
fn what_nothing_ends_is_found_beside_its_successor_and_ended_by_the_next_life() {
    let _turn = turn();
    let stage = Stage::start(1);
    let mut pair = Pair::start(&stage, 0, "detaches");
    let hit = pair.at_work();
    let work = hit[0].work.clone();
    let [wrapper, keeper] = pair.processes(&work.name);
    signal_pid(keeper, Signal::STOP);
    signal_pid(wrapper, Signal::KILL);
    signal_pid(keeper, Signal::KILL);
    pair.bury(&work.name);
    let successor = pair.works_since(work.fence);
    let left = |all: Vec<Reporter>| all.into_iter().find(|one| one.gone.is_none());
    let detached = left(stage.referee.of(&work)).expect("it detached itself, and nothing ends it");
    assert_eq!(detached.kind, "detached");
    let environment = std::fs::read(format!("/proc/{}/environ", detached.pid)).unwrap();
    assert!(environment.is_empty(), "nothing marks it");
    let found = stage.overlaps();
    assert!(
        found.iter().any(|(one, other)| one.pid == detached.pid && other.work == successor.work)
    );
    // The next life ends it before it joins, by the cgroup that the earlier one has noted.
    pair.hold(&work.name);
    let next = pair.works_since(successor.work.fence);
    let all = stage.referee.of(&work);
    let gone = all.iter().map(|one| one.gone.expect("the next life ends it")).max().unwrap();
    assert!(gone < next.first, "{all:?} {next:?}");
    let said = pair.said(&work.name);
    assert!(said.contains("its command runs in the cgroup /"), "{said}");
}
