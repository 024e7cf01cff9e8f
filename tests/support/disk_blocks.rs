//! What goes on while the disk of a run blocks, and what its journal has of it.

use std::time::Duration;

use rustix::process::Signal;
use tandem::live_view::Level;
use tandem::observation::{Fact, RunEvent, What};

use super::experiment::{Running, eventually, signal_pid};
use super::up::Up;

const SOON: Duration = Duration::from_secs(60);

/// Waits until a member is paused: its process.
pub fn paused(run: &Running) -> u32 {
    run.await_facts("a pause in force", |facts| {
        let in_force = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. }));
        let life = facts.iter().find(in_force)?.life.clone()?;
        facts.iter().find_map(|fact| match fact.what {
            What::Run(RunEvent::Started { pid, .. }) if fact.life.as_ref() == Some(&life) => {
                Some(pid)
            }
            _ => None,
        })
    })
}

/// No fact of the controller is missing.
pub fn is_whole(facts: &[Fact]) {
    let own = facts.iter().filter(|fact| !fact.what.is_by_member()).map(|fact| fact.seq);
    assert!(own.zip(1..).all(|(seq, place)| seq == place));
}

/// A member and a broker of a topology that is kept up, to be killed.
pub struct Struck {
    member: u32,
    broker: u32,
}

impl Struck {
    /// The first of each, once all is led.
    pub fn of(up: &Up) -> Self {
        let picture = up.await_health(Level::Led);
        let group = picture.groups.values().next().unwrap();
        let member = group.members.values().next().unwrap().pid.unwrap();
        let broker = picture.brokers.values().next().unwrap().pid.unwrap();
        Self { member, broker }
    }

    /// Kills one and then the other; each lives again, and all is led.
    pub fn strike(&self, up: &Up) {
        signal_pid(self.member, Signal::KILL);
        eventually("a member that lives again", SOON, || {
            let picture = up.status().1?;
            let seats = picture.groups.values().flat_map(|group| group.members.values());
            let reborn = seats.filter(|seat| seat.pid.is_some() && seat.incarnation.0 == 2).count();
            (reborn == 1).then_some(())
        });
        signal_pid(self.broker, Signal::KILL);
        eventually("a broker that lives again, and all is led", SOON, || {
            let picture = up.status().1.filter(|picture| picture.health == Level::Led)?;
            (picture.brokers.values().next()?.deaths == 1).then_some(())
        });
    }
}
