//! From facts to a verdict: who led what and when, where no member or two did, and what follows.
//!
//! ```text
//!   facts --> timeline --> verdict --> report        all of a run, once it is over
//!         --> live     --> gaps and overlaps         as they happen
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`roster`] | what those who judge must know of a topology |
//! | [`statistics`] | what so many trials say about those to come |
//! | [`timeline`] | facts to intervals |
//! | [`verdict`] | intervals to judgement and numbers |
//! | [`live`]  | facts as they come |
//!
//! All of it is pure: no input, output, clock or chance.

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

pub mod live;
pub mod roster;
pub mod statistics;
pub mod timeline;
pub mod verdict;
