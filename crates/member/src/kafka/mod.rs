//! The only module that uses rdkafka: one consumer and one producer per member, and provisioning's
//! requests to a cluster.

mod access;
mod admin;
mod cluster_facts;
mod config;
mod consumer;
mod error;
mod error_log;
mod inspect;
mod log;
mod mark;
mod producer;
mod properties;
mod rights;
#[cfg(feature = "tls")]
mod tls;
mod trouble;

pub use admin::{Admin, Found, GroupMember, TopicSettings};
pub use cluster_facts::{ClusterFacts, offsets_partition};
pub use config::{Cluster, ConsumerSettings};
pub use consumer::Consumer;
pub use error::KafkaError;
pub use inspect::Ledger;
pub use producer::Producer;
pub use properties::{Access, is_secret};
pub use trouble::Trouble;
