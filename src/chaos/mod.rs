//! Disturbs the fleet from outside, and always heals what it did.

mod aim;
mod arena;
mod brief;
mod broker;
mod clock;
mod cost;
mod experiment;
mod fault;
mod fits;
mod injected;
mod kill;
mod load;
mod lookout;
mod network;
mod network_words;
mod pause;
mod reading;
mod resolve;
mod schedule;
mod spec;
mod strike;
mod target;
mod trial;
mod words;

pub use arena::{Arena, FaultError};
pub use experiment::{Experiment, Steady, Step, Trigger};
pub use fault::{Far, Fault, How, Kind, Network};
pub use fits::fits;
pub use load::{Choice, Prepared, TOPOLOGY, load, load_topology, read_text};
pub use lookout::Lookout;
pub use reading::experiment;
pub use resolve::{Brokers, Sight, Unresolved};
pub use schedule::{Schedule, Strike};
pub use spec::Spec;
pub use target::{Across, Pick, Target};
pub use trial::{Played, play};
