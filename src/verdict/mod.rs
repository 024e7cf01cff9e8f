//! Intervals to judgement: assertions, one property a file, the report's numbers.

mod assertion;
mod brief;
mod grammar;

pub use assertion::{Assertion, BoundOf, Comparison, Limit, Measure, Statistic, Subject};
pub use brief::{Brief, Limits};
pub use grammar::AssertionError;
