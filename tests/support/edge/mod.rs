//! What tests of the fault proxy share: its process, doors before brokers, traffic.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may fail loudly"
)]

pub mod carried;
pub mod doors;
pub mod owner;
pub mod process;
pub mod traffic;
