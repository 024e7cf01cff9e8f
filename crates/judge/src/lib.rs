//! From facts to a verdict: which members led which roles when, where no member or two did, and the
//! judgement.
//!
//! ```text
//!   facts --> timeline --> verdict --> report        all of a run, once it is over
//!         --> live     --> gaps and overlaps         as they happen
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`roster`] | the parts of a topology that a judgement needs |
//! | [`statistics`] | what a number of trials says about future ones |
//! | [`timeline`] | facts to intervals |
//! | [`verdict`] | intervals to a judgement and numbers |
//! | [`live`] | gaps and overlaps while a run goes on |
//!
//! The whole crate is pure: no input, output, clock or chance.

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

pub mod live;
pub mod roster;
pub mod statistics;
pub mod timeline;
pub mod verdict;
