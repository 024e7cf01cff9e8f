//! Apache Kafka itself: plain, secured, through edges. One test at a time.

mod beside;
mod clusters;
mod kafka_edges;
mod parity;
#[cfg(feature = "tls")]
mod secure;
mod shared_groups;
