//! Apache Kafka itself, one test at a time: what faults cost there, what its answers say of time,
//! and series of clients.

mod beside;
mod clusters;
mod parity;
#[cfg(feature = "tls")]
mod secure;
mod shared_groups;
