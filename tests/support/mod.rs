//! What tests share.

#![allow(dead_code, unreachable_pub, reason = "no test uses all of it")]

pub mod alone;
pub mod blocking_disk;
pub mod broker_process;
pub mod chance;
pub mod described;
pub mod experiment;
pub mod facts;
pub mod isolations;
pub mod leftovers;
pub mod measured;
pub mod naive;
pub mod outside;
pub mod quiet;
pub mod recorded;
pub mod results;
pub mod series;
pub mod suspended;
pub mod transcript;
pub mod twin;
pub mod undone;
pub mod up;
pub mod usage;
pub mod watched;
pub mod web;
pub mod windowed;
