//! The pure rooms that are fuzzed, under the names that they have in the house.

pub use tandem_broker::{groups, wire};
pub use tandem_facts::time;
