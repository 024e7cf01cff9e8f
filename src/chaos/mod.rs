//! Disturbs the fleet from outside, and always heals what it did.

mod brief;
mod experiment;
mod fits;
mod load;
mod reading;
mod resolve;
mod schedule;
mod spec;

pub use experiment::{Across, Experiment, Fault, Pick, Steady, Step, Target, Trigger};
pub use fits::fits;
pub use load::{Choice, Prepared, TOPOLOGY, load, load_topology, read_text};
pub use reading::experiment;
pub use resolve::{Sight, Unresolved};
pub use schedule::{Schedule, Strike};
pub use spec::Spec;
