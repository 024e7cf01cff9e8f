//! What tests share.

#![allow(dead_code, unreachable_pub, reason = "no test uses all of it")]

pub mod transcript;
