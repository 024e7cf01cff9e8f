//! What was observed: identifiers, two clocks, and the facts from which everything is judged.
//!
//! | module | holds |
//! |---|---|
//! | [`ids`] | a type for every identifier; a value of one is a legal name |
//! | [`roles`] | the roles of a topology, and which of them share everything |
//! | [`time`] | [`Mono`](time::Mono) measures, [`Wall`](time::Wall) is what brokers stamp |
//! | [`observation`] | the facts: who, when, what |
//!
//! Without its features the crate depends on nothing: identifiers, instants and claims alone, for
//! code that is handed its time. `clock` reads the system's clocks, `serde` writes and reads facts
//! and describes them as JSON Schema.

// A test may fail loudly, what is shipped may not; all other lints are those of the workspace.
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
pub mod observation;
pub mod roles;
pub mod time;
