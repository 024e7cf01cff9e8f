//! The append-only file of a run: a header, then one fact per line. The report is computed from it
//! alone, so it must survive crashes of its writer.
//!
//! An experiment writes one file. An endless run writes file after file, and keeps the latest.

mod carry;
mod error;
mod header;
mod parts;
mod queue;
mod reader;
mod rolling;
mod sink;
mod tail;
mod writer;

pub(crate) use carry::Carry;
pub use error::JournalError;
pub use header::{Header, Part, VERSION};
pub use parts::{list as list_parts, open_parts, read_parts};
pub use queue::{Queue, Written};
pub use reader::{Reading, Recording, open, read};
pub use rolling::{Bounds, Rolling, Unwritten};
pub use sink::Sink;
pub use tail::{Tail, last_word};
pub use writer::{Journal, SIZE_MAX};
