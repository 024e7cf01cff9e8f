//! What tests of the fault proxy share: its process, doors before brokers, traffic.

#![allow(dead_code, unreachable_pub, reason = "no test uses all of it")]
#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may fail loudly"
)]

pub mod carried;
pub mod doors;
pub mod owner;
#[path = "../edge/process.rs"]
pub mod process;
pub mod traffic;
