//! What each fault implements.

use std::fmt::Debug;
use std::time::Duration;

use super::{AnyFault, How, Network, Restart, Storm};
use crate::chaos::cost::{Cost, Hit};
use crate::chaos::{Injection, Target};
use crate::time::Span;
use crate::topology::Plan;

/// A fault: what it does, what it costs, and how to inject it. The defaults mean "nothing".
pub trait Fault: Debug {
    /// A sentence that describes the fault.
    fn describe(&self) -> String;

    /// The same, for a step with this target.
    fn describe_for(&self, _: Option<&Target>, _: &Plan) -> String {
        self.describe()
    }

    /// How the fault is undone, for a step with this target.
    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String;

    /// How long the fault is held; `None` if it has no duration.
    fn lasts(&self) -> Option<Duration> {
        None
    }

    /// The most that it costs a group that it hits.
    fn cost(&self, _: &Hit<'_>) -> Cost {
        Cost::default()
    }

    /// How long its victims are away, if they come back; `usual` is the topology's restart.
    fn away(&self, _usual: Duration) -> Duration {
        Duration::ZERO
    }

    /// How long it is held before its cost ends.
    fn held(&self) -> Duration {
        Duration::ZERO
    }

    /// How its victims come back, if it ends them.
    fn restart(&self) -> Option<Restart> {
        None
    }

    /// How the brokers that it hits fail, of a cluster or of a machine, and how long they are away;
    /// `None` if it hits members alone.
    fn of_brokers(&self) -> Option<(How, Span)> {
        None
    }

    /// Whether it can make two members of an exclusive group lead, against the proof of that mode.
    fn can_break_proof(&self) -> bool {
        false
    }

    /// The fault of the network, if it is one.
    fn network(&self) -> Option<&Network> {
        None
    }

    /// The strikes that it is made of, if it is a series.
    fn series(&self) -> Option<Series<'_>> {
        None
    }

    /// How to inject it into members, and heal it.
    fn injection(&self) -> Box<dyn Injection>;
}

/// A series of strikes, one member each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Series<'a> {
    /// Victim, instant and fault of each strike are drawn from the seed.
    Drawn(&'a Storm),
    /// This fault, for each member in turn, once everything has settled again.
    InTurn(AnyFault),
}
