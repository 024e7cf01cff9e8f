//! Intervals to judgement: assertions, one property a file, the report's numbers.

mod assertion;
mod brief;

pub use assertion::{Assertion, AssertionError};
pub use brief::{Brief, Limits};
