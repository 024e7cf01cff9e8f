//! The topology: its YAML, the plan with every decision made, and the bounds that follow from it.
//!
//!   text --- [`plan`] ---> [`Plan`], or every problem with its place
//!
//! Files are read elsewhere: this module takes text.

mod access;
mod among;
mod bootstrap;
mod bounds;
mod check;
mod consumer;
mod defaults;
mod derived;
mod duty;
mod election;
mod elections;
mod exclusive;
mod foreign;
mod handover;
mod in_place;
mod limits;
mod load;
mod mesh;
mod on_death;
mod outside;
mod pace;
mod page;
mod paper;
mod places;
mod plan;
mod planning;
mod promise;
mod roster;
mod shared_fate;
mod sizing;
mod slots;
mod spec;
mod static_members;
mod stores;
mod strangers;
mod terms;
mod written;
mod zookeeper;

pub use crate::kafka::{Access, ClusterFacts, GroupProtocol, MembershipClient, is_secret};
pub use crate::roles::{Count, Roles};
pub use crate::roster::{Bound, Bounds, Mode, Objective, Range};
pub use crate::secret::Secret;
pub(crate) use bootstrap::addresses;
pub use bounds::{RECONNECT, Recall, UNLIMITED, bounds, outage_bound};
pub use consumer::group_terms;
pub use duty::{Duty, PlannedDuty, TooShort, time_to_kill, usual_grace};
pub use election::{Election, Electorate};
pub use foreign::Foreign;
pub use in_place::{Change, InPlace, in_place};
pub use limits::{Finding, Weight, judge};
pub use load::Load;
pub use mesh::{Links, place};
pub use outside::Chaos;
pub use pace::{Assignor, Beacons, OnDeath, Pace, Profile};
pub use page::Page;
pub use plan::{Address, Edges, Launch, Plan, PlannedCluster, PlannedGroup};
pub use planning::plan;
pub use promise::{Allowance, Share, ShareError};
pub use spec::{Group, GroupSettings, Restart, Spec};
pub use tandem_facts::keys::{SlotHash, Slots};
pub use terms::Terms;
pub use written::{
    Brokers, Cluster, Elsewhere, Embedded, EtcdStore, NatsServers, OtherAccess, Shareable,
    ZooKeeperServers,
};
pub use zookeeper::Ensemble;
