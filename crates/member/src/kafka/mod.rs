//! The only module that names rdkafka: one consumer and one producer a member, and what
//! provisioning asks of a cluster.

mod access;
mod admin;
mod cluster_facts;
mod config;
mod consumer;
mod error;
mod inspect;
mod log;
mod membership;
mod producer;
mod properties;
mod rights;
#[cfg(feature = "tls")]
mod tls;
mod trouble;
mod voice;

pub use admin::{Admin, Found, GroupMember, TopicSettings};
pub use cluster_facts::{ClusterFacts, offsets_partition};
pub use config::{Cluster, ConsumerSettings};
pub use consumer::{Consumer, Heard};
pub use error::KafkaError;
pub use inspect::Ledger;
pub use membership::MembershipClient;
pub use producer::Producer;
pub use properties::{Access, is_secret};
pub use trouble::Trouble;
