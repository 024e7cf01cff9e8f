//! Disturbs the fleet from outside, and always heals what it did.

mod arena;
mod brief;
mod broker;
mod experiment;
mod fault;
mod fits;
mod kill;
mod load;
mod lookout;
mod pause;
mod reading;
mod resolve;
mod schedule;
mod spec;
mod strike;
mod trial;
mod words;

pub use arena::{Arena, FaultError};
pub use experiment::{Across, Experiment, Fault, Pick, Steady, Step, Target, Trigger};
pub use fits::fits;
pub use load::{Choice, Prepared, TOPOLOGY, load, load_topology, read_text};
pub use lookout::Lookout;
pub use reading::experiment;
pub use resolve::{Sight, Unresolved};
pub use schedule::{Schedule, Strike};
pub use spec::Spec;
pub use trial::{Played, play};
