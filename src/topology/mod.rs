//! The topology: its YAML, the plan with every decision made, and the bounds that follow from it.
//!
//!   text --- [`plan`] ---> [`Plan`], or every problem with its place
//!
//! Files are read elsewhere: this module takes text.

mod access;
mod bounds;
mod check;
mod defaults;
mod duty;
mod elections;
mod exclusive;
mod foreign;
mod limits;
mod on_death;
mod pace;
mod page;
mod places;
mod plan;
mod planning;
mod promise;
mod roster;
mod shared_fate;
mod sizing;
mod spec;
mod strangers;
mod terms;
mod written;

pub use crate::kafka::{Access, ClusterFacts, MembershipClient, is_secret};
pub use crate::roles::{Count, Roles};
pub use crate::roster::{Bound, Bounds, Mode, Objective, Range};
pub use crate::secret::Secret;
pub use bounds::{RECONNECT, Recall, bounds, outage_bound};
pub use duty::{Duty, PlannedDuty, TooShort, time_to_kill, usual_grace};
pub use foreign::Foreign;
pub use limits::{Finding, Weight, judge};
pub use pace::{Assignor, OnDeath, Pace, Profile};
pub use page::Page;
pub use plan::{Address, Edges, Launch, Plan, PlannedCluster, PlannedGroup};
pub use planning::plan;
pub use promise::{Allowance, Share, ShareError};
pub use spec::{Election, Group, GroupSettings, Protocol, Restart, Spec};
pub use terms::Terms;
pub use written::{Brokers, Cluster, Elsewhere, Embedded, EtcdStore, OtherAccess, Shareable};
