//! Disturbs the fleet from outside, and always heals what it did.

mod arena;
mod experiment;
mod fault;
mod kill;
mod pause;
mod schedule;
mod strike;
mod trial;

pub use arena::{Arena, FaultError};
pub use experiment::{Across, Experiment, Fault, Pick, Steady, Step, Target, Trigger};
pub use schedule::{Schedule, Strike};
pub use trial::{Played, play};
