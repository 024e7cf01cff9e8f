//! The pure rooms that are fuzzed, under the names that they have in the house.

pub use tandem_broker::{groups, wire};
pub use tandem_facts::time;

// What is fuzzed names the rooms as it does in the house.
extern crate self as tandem;

pub mod targets;
