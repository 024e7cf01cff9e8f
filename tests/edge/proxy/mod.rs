//! The fault proxy as a process, from outside: what passes, what does not, and what is said of it.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a test may fail loudly"
)]

mod answered;
mod answers;
mod bytes;
mod garbage;
mod kafka;
mod requests;
mod rewriting;
#[cfg(feature = "tls")]
mod secured;
mod slow;
mod upstream;
