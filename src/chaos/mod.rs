//! Disturbs the fleet from outside, and always heals what it did.

mod experiment;
mod schedule;

pub use experiment::{Across, Experiment, Fault, Pick, Steady, Step, Target, Trigger};
pub use schedule::{Schedule, Strike};
