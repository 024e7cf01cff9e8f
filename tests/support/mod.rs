//! What tests share.

#![allow(dead_code, unreachable_pub, reason = "no test uses all of it")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail loudly"
)]

pub mod chance;
pub mod facts;
pub mod naive;
pub mod transcript;
pub mod twin;
