//! What is wanted: the YAML as written, the plan in which everything is decided, and the bounds that
//! follow from it.

mod bounds;
mod plan;

pub use bounds::{Bound, Bounds, Range};
pub use plan::{Address, Assignor, Mode, Objective, Pace, Plan, PlannedCluster, PlannedGroup};
