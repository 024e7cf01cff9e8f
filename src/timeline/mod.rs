//! Facts to intervals: who led what and when, as far as anybody can know.
//!
//! [`Standing`] is the live view that a run is steered by.

mod standing;

pub use standing::{Obstacle, Standing};
