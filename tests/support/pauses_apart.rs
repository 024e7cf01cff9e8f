//! When a member on another host is stopped and continues, and what the controller finds of it.

use std::thread::JoinHandle;
use std::time::Duration;

use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;

use super::apart::HERE;
use super::held::SOON;
use super::leftovers::is_stopped;
use super::namespaces::Namespaces;

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
pub fn referee(pid: u32) -> JoinHandle<[[Mono; 2]; 2]> {
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
pub fn within(facts: &[Fact], member: &str, event: &RunEvent, truth: [Mono; 2]) {
    let error = error_of(facts, member);
    let all: Vec<_> = of(facts, member).collect();
    let seen = all.iter().position(|fact| fact.what == What::Run(event.clone()));
    let seen = seen.unwrap_or_else(|| panic!("no {event:?} of {member}"));
    let asked = all[..seen].iter().rev().find(|fact| fact.what == What::Run(RunEvent::NotYet));
    let [asked, seen] = [asked.unwrap(), &all[seen]].map(|fact| Namespaces::truly(HERE, fact.t));
    println!("{member}: {event:?} in {asked:?} to {seen:?}, truly in {truth:?}, within {error:?}");
    assert!(
        seen + error >= truth[0] && asked <= truth[1] + error,
        "{event:?} of {member}: {asked:?} to {seen:?}, not within {error:?} of {truth:?}"
    );
}
