//! What each fault says of itself.

use std::fmt::Debug;
use std::time::Duration;

use super::{AnyFault, How, Network, Restart, Storm};
use crate::chaos::cost::{Cost, Hit};
use crate::chaos::{Injection, Target};
use crate::time::Span;
use crate::topology::Plan;

/// A fault: what it does, what it costs, and how it is done. What is not said is nothing.
pub trait Fault: Debug {
    /// What is done, in a sentence.
    fn describe(&self) -> String;

    /// How that ends, for a step with this target.
    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String;

    /// For how long it is held; nothing for what ends otherwise.
    fn lasts(&self) -> Option<Duration> {
        None
    }

    /// What it costs a group that it hits, at most.
    fn cost(&self, _: &Hit<'_>) -> Cost {
        Cost::default()
    }

    /// For how long its victims are gone, where they come back; `usual` is the topology's restart.
    fn away(&self, _usual: Duration) -> Duration {
        Duration::ZERO
    }

    /// For how long it is on before what it costs comes to its end.
    fn held(&self) -> Duration {
        Duration::ZERO
    }

    /// How its victims come back, where they end.
    fn restart(&self) -> Option<Restart> {
        None
    }

    /// What becomes of the brokers that it strikes, of a cluster or of a machine, and for how long
    /// they are away; nothing where it is done to members alone.
    fn of_brokers(&self) -> Option<(How, Span)> {
        None
    }

    /// What it does to the network, if that is what it is done to.
    fn network(&self) -> Option<&Network> {
        None
    }

    /// What it is made of, where it is many strikes.
    fn series(&self) -> Option<Series<'_>> {
        None
    }

    /// How it is done to members, and undone.
    fn injection(&self) -> Box<dyn Injection>;
}

/// Many strikes, one member each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Series<'a> {
    /// It is drawn who, when and by what.
    Drawn(&'a Storm),
    /// This, to each in turn, once all is settled again.
    InTurn(AnyFault),
}
