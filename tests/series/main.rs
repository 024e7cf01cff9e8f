//! The full counts behind what is claimed. `tests/measure NAME` runs them.

mod beacons;
mod elections;
mod embedded;
mod fences;
mod kafka;
mod newer;
mod programs;
mod stores;
mod up;
mod wrapper;
