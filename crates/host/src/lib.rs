//! What a process needs from its machine: the user at the other end of a connection, the owner of a
//! file, the limit on descriptors, the time that a death takes, the folder for state, secrets, the
//! program itself, its signals; and escaping of errors and foreign text for a terminal.

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

mod callers;
mod death;
mod descriptors;
mod own_program;
mod owner;
mod peer;
mod signals;
mod state;

pub mod error;
pub mod secret;
pub mod shown;

pub use callers::{Callers, Refusal, user};
pub use death::DEATH;
pub use descriptors::{Descriptors, descriptors, raise_descriptors};
pub use own_program::{own_program, take_name, tandem};
pub use owner::is_ours_alone;
pub use peer::holder;
pub use signals::{ending_signals, keep_ended_children, outlive_signals};
pub use state::state_home;
