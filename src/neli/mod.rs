//! neli.
