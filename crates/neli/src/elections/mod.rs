//! Elections beside NELI, one module each: cores without input, output, clock or chance.

pub mod allcall;
pub mod among;
pub mod bully;
pub mod etcd;
pub mod generation;
pub mod over_store;
pub mod quorum_lease;
pub mod ring;
pub mod zab;
pub mod zookeeper;
