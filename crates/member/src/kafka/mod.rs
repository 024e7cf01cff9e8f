//! The only module that uses rdkafka: one consumer and one producer per member, provisioning's
//! requests to a cluster, and a topic that is written and read record by record.

mod access;
mod admin;
mod bearer;
mod bell;
mod cluster_facts;
mod config;
mod consumer;
mod error;
mod error_log;
mod inspect;
mod log;
mod mark;
mod membership;
mod own_access;
mod polled;
mod producer;
mod properties;
mod publisher;
mod rights;
mod spoken;
mod tail;
#[cfg(feature = "tls")]
pub(crate) mod tls;
mod trouble;

pub(crate) use access::Redaction;
pub use admin::{Admin, Found, GroupMember, TopicSettings};
pub(crate) use bearer::{Bearer, TOKEN};
pub(crate) use bell::Bell;
pub use cluster_facts::{ClusterFacts, offsets_partition};
pub use config::{Cluster, ConsumerSettings};
pub use consumer::{Consumer, Delivered};
pub use error::KafkaError;
pub use inspect::Ledger;
pub use mark::{Mark, Named};
pub use membership::{GroupProtocol, MembershipClient};
pub(crate) use own_access::Mechanism;
pub use own_access::Unfit;
pub use producer::Producer;
pub use properties::{Access, is_secret};
pub use publisher::{Appended, Publisher};
pub use spoken::spoken;
pub use tail::{Tail, TailFrom, Tailed};
#[cfg(feature = "tls")]
pub(crate) use trouble::ALERT;
pub use trouble::Trouble;
