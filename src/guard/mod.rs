//! Holds what must be undone, and undoes it when its master is gone.
//!
//! A small process of its own, started first. Its standard input is a pipe from the controller: a
//! line `hold <pid>` makes it open a pidfd and answer `held <pid>`; `free` ends it in peace. When
//! the pipe closes without that, the controller is gone: everything held is killed, and woken, for
//! a stopped process does not die of a closed pipe.
//!
//! A line `promise <json>` makes it keep a broker that is about to be killed, answered `promised`;
//! `kept <json>` forgets it, answered `forgotten`. What is still promised in the end is started.
//!
//! It holds pidfds, never bare pids: a pid that was used again is somebody else's.

mod hand;
mod revival;
mod watch;

pub use hand::{Guard, GuardError, Held};
pub use revival::{Revival, started};
pub use watch::watch;
