//! The page of a run: nothing loaded, everything escaped, all that was found in it, and how a real
//! browser takes it.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    unreachable_pub,
    reason = "a test may fail loudly"
)]

mod browser;
mod contents;
mod drawn;
mod hostile;
pub mod large;
mod made;
