//! The facts: which life, when, what. Every verdict is computed from facts alone.
//!
//! A member writes its facts to a pipe, one JSON object per line. The controller adds its own facts
//! and writes all of them to the journal in the order of arrival. `t` and `seq` are those of each
//! fact's author.

mod claim;
#[cfg(feature = "serde")]
mod class;
#[cfg(feature = "serde")]
mod external;
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
pub use external::{ClockDomain, External};
#[cfg(feature = "serde")]
pub use fact::{Fact, What};
#[cfg(feature = "serde")]
pub use outcome::Outcome;
