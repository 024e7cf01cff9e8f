//! The full counts behind what is claimed. `tests/long NAME` runs them.

mod embedded;
mod kafka;
mod up;
