//! Other users of the same machine, and text of others: edges, embedded brokers, metrics and status
//! refuse strangers; what strangers could have written is not believed; nothing steers a terminal.
//!
//! The first kind runs programs as the user `nobody`, which takes root and perl, and fails where
//! they are missing; `tests/all` runs as root.

#![allow(unreachable_pub, reason = "a test may fail loudly")]

pub(crate) mod another;
mod believed;
mod refused;
mod terminal;
