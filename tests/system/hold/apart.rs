//! Orders to members on other hosts, whose monotonic clocks are apart by days: what happens there
//! is known to within the stated error, and undone. More of it, and how soon, on a quiet host:
//! `tests/measured/hold/ordered_apart.rs`.

use std::thread::JoinHandle;
use std::time::Duration;

use support::apart::{Apart, HERE, host_of};
use support::held::SOON;
use support::leftovers::is_stopped;
use support::namespaces::Namespaces;
use tandem::guard::started;
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;

/// Not the host of the controller.
const VICTIM: &str = "p1-b";

/// The time in which the process was stopped or continued, on the clock of the test.
fn turns(pid: u32, stopped: bool) -> [Mono; 2] {
    let began = Mono::now(); // clock: the truth is a time, and so is the bound of this wait
    let mut before = began;
    loop {
        let now = Mono::now(); // clock: the truth is a time
        if is_stopped(pid) == stopped {
            return [before, Mono::now()]; // clock: the truth is a time
        }
        before = now;
        assert!(now.since(began) < SOON, "the process is not stopped, or not continued");
        std::thread::sleep(Duration::from_millis(1)); // clock: it looks closely
    }
}

/// When the process is stopped, and when it continues.
fn referee(pid: u32) -> JoinHandle<[[Mono; 2]; 2]> {
    std::thread::spawn(move || [turns(pid, true), turns(pid, false)])
}

fn of<'a>(facts: &'a [Fact], member: &'a str) -> impl Iterator<Item = &'a Fact> {
    let is_of =
        move |fact: &&Fact| fact.life.as_ref().is_some_and(|life| life.member.as_str() == member);
    facts.iter().filter(is_of)
}

/// How far the instants of a member may be off, by the word of the controller.
fn error_of(facts: &[Fact], member: &str) -> Duration {
    let stated = of(facts, member).filter_map(|fact| match &fact.what {
        What::Run(RunEvent::Started { external, .. }) => external.as_ref()?.error(),
        _ => None,
    });
    stated.last().unwrap_or_else(|| panic!("the clock of {member} was not compared"))
}

/// What the controller found of the member: it was asked to do this, and was seen to have done it.
/// To within the stated error, the truth lies between the two.
fn within(facts: &[Fact], member: &str, event: &RunEvent, truth: [Mono; 2]) {
    let error = error_of(facts, member);
    let all: Vec<_> = of(facts, member).collect();
    let seen = all.iter().position(|fact| fact.what == What::Run(event.clone()));
    let seen = seen.unwrap_or_else(|| panic!("no {event:?} of {member}"));
    let asked = all[..seen].iter().rev().find(|fact| fact.what == What::Run(RunEvent::NotYet));
    let [asked, seen] = [asked.unwrap(), &all[seen]].map(|fact| Namespaces::truly(HERE, fact.t));
    assert!(
        seen + error >= truth[0] && asked <= truth[1] + error,
        "{event:?} of {member}: {asked:?} to {seen:?}, not within {error:?} of {truth:?}"
    );
}

#[test]
fn a_member_on_another_host_is_paused_and_both_instants_are_known_to_within_the_error() {
    let apart = Apart::new();
    assert_ne!(host_of(VICTIM), HERE);
    let pid = apart.pid(VICTIM);
    let truth = referee(pid);
    let step = format!("fault: pause, for: 3s, target: {{member: {VICTIM}}}");
    let paused = apart.disturb("pause", &step).finish();
    paused.sound();
    let [stopped, continued] = truth.join().unwrap();
    let facts = paused.recording().facts;
    within(&facts, VICTIM, &RunEvent::Stopped, stopped);
    within(&facts, VICTIM, &RunEvent::Continued, continued);
    assert!(started(pid).is_some() && !is_stopped(pid), "{paused}");
}
