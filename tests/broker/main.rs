//! The embedded broker, its clients and its enemies.

mod clients;
mod embedded;
mod fast;
mod garbage;
mod promises;
mod reading;
