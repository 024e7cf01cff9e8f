//! The pure rooms that are fuzzed, under the names that they have in the house.

#![allow(missing_docs, dead_code, reason = "the house itself sees to that")]

#[path = "../../src/groups/mod.rs"]
pub mod groups;
#[path = "../../src/time/mod.rs"]
pub mod time;
#[path = "../../src/wire/mod.rs"]
pub mod wire;
