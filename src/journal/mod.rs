//! The append-only file that holds everything: a header, then one fact a line.

mod header;

pub use header::{Header, VERSION};
