//! The append-only file that holds everything: a header, then one fact a line. The report is
//! computed from it alone, so it must survive whatever happens to its writer.
//!
//! A run that has an end writes one file. One that has none writes file after file, and keeps the
//! latest.

mod carry;
mod error;
mod header;
mod parts;
mod queue;
mod reader;
mod rolling;
mod sink;
mod writer;

pub(crate) use carry::Carry;
pub use error::JournalError;
pub use header::{Header, Part, VERSION};
pub use parts::{list as list_parts, open_parts, read_parts};
pub use queue::{Queue, Written};
pub use reader::{Reading, Recording, open, read};
pub use rolling::{Bounds, Rolling, Unwritten};
pub use sink::Sink;
pub use writer::{Journal, SIZE_MAX};
