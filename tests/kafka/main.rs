//! Apache Kafka itself: plain, secured, through edges. Tests of one kind of clusters share them.
//! What faults cost on it, and what takes minutes, is in `tests/measured/kafka`.

mod clusters;
mod kafka_edges;
#[cfg(feature = "tls")]
mod secure;
