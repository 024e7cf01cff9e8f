//! Holds what must be undone, and undoes it when its master is gone.
//!
//! ```text
//!  controller -- run, hold, promise, kept, owe, paid, renew, free --> guard ----> ledger
//!       |                                                       | pipe closed, 3 s of silence:
//!       +---- starts, stops, kills ----> processes <------------+ SIGKILL, SIGCONT; brokers
//!                                                                 start; what is owed is run
//! ```
//!
//! A small process of its own, started first, with a pipe from the controller. Each line has one
//! answer: `run <json>` begins the ledger; `hold <pid>` has it open a pidfd; `promise <json>` has
//! it keep a broker that is about to be ended or paused, and `kept <json>` forgets it; `owe <json>`
//! has it run a command that undoes another of the user's own, and `paid <json>` forgets that one;
//! `renew` says that the controller runs. `free` ends it in peace. When the pipe closes without
//! that the controller was killed, and when it is silent for three seconds it was stopped:
//! everything held is killed, and woken, for a stopped process does not die of a closed pipe; what
//! is owed is run; what is promised is woken, or started.
//!
//! Whatever the guard takes in hand it writes down first, so that somebody else can undo it where
//! the guard itself is killed: its controller, the next run, or `tandem halt`.
//!
//! It holds pidfds, never bare pids: a pid that was used again is somebody else's.

mod charge;
mod children;
mod command;
mod halt;
mod hand;
mod identity;
mod kept_up;
mod lease;
mod ledger;
mod line;
mod pipe;
mod rehearsal;
mod remains;
mod revival;
mod run;
mod strays;
mod suites;
mod undo;
mod watch;

pub use children::Children;
pub use command::{CommandError, Running, UserCommand, shown};
pub use halt::{halt, halt_suite, wake};
pub use hand::{Guard, Held, Unhealed};
pub use identity::{Identity, parent, started};
pub use kept_up::kept_up;
pub use ledger::{Page, page};
pub use line::{GuardError, Loss};
pub use rehearsal::{Rehearsal, rehearse};
pub use remains::{Remains, heal, heal_all, remains};
pub use revival::Revival;
pub use run::{Place, Purpose, Run, Whereabouts, runs, state_home};
pub use strays::MARK;
pub use suites::{Entered, Suite, enter_suite, suites, suites_at, writable};
pub use undo::Undone;
pub use watch::watch;
