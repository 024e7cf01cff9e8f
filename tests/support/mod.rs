//! What tests share.

#![allow(dead_code, unreachable_pub, reason = "no test uses all of it")]

pub mod chance;
pub mod facts;
pub mod naive;
pub mod transcript;
