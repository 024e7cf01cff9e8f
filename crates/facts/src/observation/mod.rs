//! The facts: which life, when, what. Every verdict is computed from facts alone.
//!
//! A member writes its facts to a pipe, one JSON object per line. The controller adds its own facts
//! and writes all of them to the journal in the order of arrival. `t` and `seq` are those of each
//! fact's author.

mod claim;
#[cfg(feature = "serde")]
mod class;
#[cfg(feature = "serde")]
mod event_schema;
#[cfg(feature = "serde")]
mod external;
#[cfg(feature = "serde")]
mod fact;
#[cfg(feature = "serde")]
mod member_event;
#[cfg(feature = "serde")]
mod outcome;
#[cfg(feature = "serde")]
mod placed;
#[cfg(feature = "serde")]
mod refused_orders;
#[cfg(feature = "serde")]
mod run_event;
#[cfg(feature = "serde")]
mod what;

pub use claim::{Ending, Horizon, Mode};
#[cfg(feature = "serde")]
pub use class::FaultClass;
#[cfg(feature = "serde")]
pub use external::{ClockDomain, External};
#[cfg(feature = "serde")]
pub use fact::Fact;
#[cfg(feature = "serde")]
pub use member_event::MemberEvent;
#[cfg(feature = "serde")]
pub use outcome::Outcome;
#[cfg(feature = "serde")]
pub use refused_orders::RefusedOrders;
#[cfg(feature = "serde")]
pub use run_event::RunEvent;
#[cfg(feature = "serde")]
pub use what::What;
