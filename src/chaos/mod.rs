//! Injects faults into the fleet from outside, and always heals them.

mod aim;
mod arena;
mod brief;
mod cost;
mod experiment;
mod faults;
mod fits;
mod foresee;
mod injected;
mod kind;
mod load;
mod lookout;
mod network_words;
mod on_up;
mod preview;
mod reading;
mod resolve;
mod schedule;
mod series;
mod shipped;
mod spec;
mod strike;
mod suite;
mod target;
mod trial;
mod trials;
mod words;

pub use arena::{Arena, FaultError};
pub use brief::brief;
pub use cost::{Cost, Hit};
pub use experiment::{Disturbance, Experiment, Steady, Step, Trigger};
pub use faults::{
    AnyFault, Far, Fault, How, InStorm, Kind, Need, Network, Permission, Restart, Series, Storm,
    Targets, Word, Written,
};
pub use fits::fits;
use injected::NoInjection;
pub use injected::{Case, Injection};
pub use load::{
    Allowed, Choice, Prepared, TOPOLOGY, load, load_chosen, load_topology, read_text, shown,
};
pub use lookout::Lookout;
pub use on_up::{load_on, read_on, with_outside};
pub use preview::{Preview, StepCost, StepPreview, StrikePreview, TrialPreview, UntilPreview};
pub use reading::experiment;
pub use resolve::{Brokers, Sight, Unresolved};
pub use schedule::{Schedule, Strike};
pub use shipped::{SHIPPED, Shipped, is_inside, locate};
pub use spec::Spec;
pub use suite::{Suite, SuiteRun};
pub use target::{Across, Pick, Target};
pub use trial::{Played, play};
pub use trials::{Below, ClaimSpec, Sequel, Sure, Trials};
