//! When a command is gone that ignores SIGTERM and has detached something: before the claim ends,
//! if its member is cut off or its `tandem hold` is stopped; before a successor runs a session
//! later, if it is killed.

use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::{Hold, SOON, Stage, again, gone, written};
use support::measured::shared_turn;
use support::quiet::undisturbed;
use support::stalls::Watch;
use tandem::guard::Identity;
use tandem::time::Mono;

/// Ignores SIGTERM, and leaves a process behind that ignores it, in a session of its own.
const STUBBORN: &str = "trap '' TERM; setsid sh -c 'echo $$ > detached; while :; do sleep 0.02; \
                        done' & wait; while :; do sleep 0.02; done";
/// What a claim lasts at most after the brokers are gone: four fifths of a session.
const THRESHOLD: Duration = Duration::from_millis(2_400);
/// The keeper kills a fifth of the hold, which is 1500 ms, before the end of a promise. The host
/// disturbs that if it keeps it from running for half of this.
const STALL: Duration = Duration::from_millis(150);

/// How a stubborn command ended: how long after its member was cut off, and for how long at most
/// the host kept its keeper, or this process, from running meanwhile.
struct Ended {
    took: Duration,
    stalled: Duration,
}

impl Ended {
    /// Waits for it. The keeper is watched since before the cut.
    fn after(cut: Mono, watch: &Watch, [command, detached]: [Identity; 2]) -> Self {
        let took = gone(command).max(gone(detached)).since(cut);
        Self { took, stalled: watch.longest(cut, Mono::now()) }
    }

    fn is_disturbed(&self) -> bool {
        self.stalled >= STALL
    }

    fn shown(&self) -> String {
        format!("gone {:?} after the cut, stalled for {:?}\n", self.took, self.stalled)
    }
}

fn watched(hold: &Hold) -> Watch {
    let watch = Watch::begin();
    watch.add(hold.keeper().pid);
    watch
}

/// Its commands are gone before the claim ends, unless the host disturbs that.
fn is_gone_in_time(play: impl FnOnce() -> Ended) {
    let _turn = shared_turn();
    if let Some(ended) = undisturbed(play, Ended::is_disturbed, Ended::shown) {
        assert!(ended.took < THRESHOLD, "the claim lasts {THRESHOLD:?}; {}", ended.shown());
    }
}

#[test]
fn a_stubborn_command_and_what_it_detached_are_gone_before_the_claim_ends() {
    is_gone_in_time(|| {
        let stage = Stage::exclusive();
        let one = stage.hold_alone("a", STUBBORN);
        let (command, detached) = (stage.runs("a", None), written(&stage.path("detached")));
        let watch = watched(&one);
        // No proof is later than this instant, so no claim ends later than a threshold after it.
        signal_pid(stage.broker.pid(), Signal::STOP);
        let ended = Ended::after(Mono::now(), &watch, [command, detached]);
        if ended.is_disturbed() {
            return ended;
        }
        eventually("the word", SOON, || {
            stage.said("a.err").contains("the command was killed: signal 9").then_some(())
        });
        signal_pid(stage.broker.pid(), Signal::CONT);
        stage.runs("a", Some(command));
        stage.was_alone();
        ended
    });
}

#[test]
fn a_killed_wrapper_leaves_nothing_behind_and_its_successor_finds_nothing() {
    let _turn = shared_turn();
    let stage = Stage::exclusive();
    let first = stage.hold_alone("a", STUBBORN);
    let (command, detached) = (stage.runs("a", None), written(&stage.path("detached")));
    let _second = stage.hold_alone("b", "while :; do sleep 0.02; done");
    // A joining member revokes all partitions; round robin gives the only one to the first again.
    gone(command);
    gone(detached);
    let (command, detached) =
        (stage.runs("a", Some(command)), again(&stage.path("detached"), detached));
    let keeper = first.keeper();
    first.signal(Signal::KILL);
    for one in [command, detached, keeper] {
        gone(one);
    }
    stage.runs("b", None);
    stage.was_alone();
}

#[test]
fn a_stopped_wrapper_holds_nothing_up() {
    is_gone_in_time(|| {
        let stage = Stage::exclusive();
        let first = stage.hold_alone("a", STUBBORN);
        let (command, detached) = (stage.runs("a", None), written(&stage.path("detached")));
        let watch = watched(&first);
        first.signal(Signal::STOP);
        // The keeper alone ends the command, by the last promise that it received.
        let ended = Ended::after(Mono::now(), &watch, [command, detached]);
        let _second = stage.hold_alone("b", "while :; do sleep 0.02; done");
        stage.runs("b", None);
        first.signal(Signal::CONT);
        eventually("the word", SOON, || {
            stage.said("a.err").contains("the command was killed").then_some(())
        });
        stage.was_alone();
        ended
    });
}
