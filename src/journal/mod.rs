//! The append-only file that holds everything: a header, then one fact a line. The report is
//! computed from it alone, so it must survive whatever happens to its writer.

mod error;
mod header;
mod reader;
mod writer;

pub use error::JournalError;
pub use header::{Header, VERSION};
pub use reader::{Recording, read};
pub use writer::{Journal, SIZE_MAX};
