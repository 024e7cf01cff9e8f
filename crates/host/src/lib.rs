//! What a process needs from the machine it runs on: who holds the other end of a connection, whose
//! a file is, how many descriptors it may open, where secrets stand; and errors and foreign text as
//! a terminal may show them.

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

mod callers;
mod descriptors;
mod owner;
mod peer;

pub mod error;
pub mod secret;
pub mod shown;

pub use callers::{Callers, Refusal, user};
pub use descriptors::{Descriptors, descriptors, raise_descriptors};
pub use owner::is_ours_alone;
pub use peer::holder;
