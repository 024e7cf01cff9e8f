//! The facts: who, when, what. Everything that is ever judged is computed from these alone.
//!
//! A member's facts reach the controller on a pipe, one JSON object a line; the controller adds its
//! own and writes all of them to the journal. Their order there is the order of arrival; `t` and
//! `seq` are their author's.

mod claim;
#[cfg(feature = "serde")]
mod class;
#[cfg(feature = "serde")]
mod fact;
#[cfg(feature = "serde")]
mod outcome;
#[cfg(feature = "serde")]
mod unit_facts;

pub use claim::{Ending, Horizon, Mode};
#[cfg(feature = "serde")]
pub use class::FaultClass;
#[cfg(feature = "serde")]
pub use fact::{Fact, What};
#[cfg(feature = "serde")]
pub use outcome::Outcome;
