//! YAML with the position of every value, so that later problems can be shown where they are.
//!
//!   text --- parse ---> [`Node`] --- overrides ---> [`Node`] --- typed ---> the caller's types
//!
//! Each step can fail with a [`Problem`]; a [`FileError`] is all problems of one file, rendered
//! with the lines that they are about.

mod cursor;
mod file_error;
mod file_kind;
mod near;
mod node;
mod overrides;
mod parse;
mod problem;
mod typed;

pub use cursor::Cursor;
pub use file_error::FileError;
pub use file_kind::FileKind;
pub use near::{choices, did_you_mean};
pub use node::{Entry, Node, Origin, Position, Value};
pub use overrides::{Override, OverrideError};
pub use parse::parse;
pub use problem::Problem;
pub use typed::read;
