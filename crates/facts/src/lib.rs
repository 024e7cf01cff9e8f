//! What a run observes: identifiers, two clocks, and the facts from which verdicts are computed.
//!
//! | module | holds |
//! |---|---|
//! | [`ids`] | one type for each kind of identifier; a value is always a legal name |
//! | [`roles`] | the roles of a topology, and the classes of roles on the same partitions |
//! | [`keys`] | which role a key belongs to: hash slots |
//! | [`time`] | [`Mono`](time::Mono) measures durations, [`Wall`](time::Wall) is what brokers stamp
//! |
//! | [`observation`] | the facts: which life, when, what |
//!
//! Without features the crate has no dependencies. It then holds identifiers, instants and claims
//! only, for code that receives the time as an argument. The feature `clock` reads the system's
//! clocks; `serde` serializes facts and describes them as JSON Schema.

// Tests may panic, shipped code may not. All other lints come from the workspace.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]

pub mod ids;
pub mod keys;
pub mod observation;
pub mod roles;
pub mod time;
