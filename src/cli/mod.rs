//! The commands.

pub mod broker;
