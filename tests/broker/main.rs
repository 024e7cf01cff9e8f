//! The embedded broker, its clients and its enemies.

mod clients;
mod embedded;
mod examples;
mod fast;
mod garbage;
mod lowered;
mod promises;
mod reading;
mod tail;
mod upgrade;
