//! Tandem keeps a set of roles led all the time, and proves it.

pub mod error;
pub mod ids;
pub mod time;
pub mod yaml;

pub mod groups;
pub mod neli;
pub mod observation;
pub mod topology;
pub mod wire;

pub mod timeline;

pub mod verdict;

pub mod broker;
pub mod journal;
pub mod kafka;

pub mod guard;

pub mod member;

pub mod controller;

pub mod chaos;

pub mod run;

pub mod cli;
