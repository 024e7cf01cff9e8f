//! The guard: a process that undoes the effects of a run when its controller is gone.
//!
//! ```text
//!  controller -- run, hold, promise, kept, owe, paid, renew, free --> guard ----> ledger
//!       |                                                       | pipe closed, or 3 s of silence:
//!       +---- starts, stops, kills ----> processes <------------+ SIGKILL, SIGCONT; brokers
//!                                                                 start; owed commands run
//! ```
//!
//! The controller starts the guard before anything else, and sends it lines through a pipe. Each
//! line except `free` has one answer:
//!
//! - `run <json>` creates the ledger.
//! - `hold <pid>` makes the guard open a pidfd of a process that must end with the run.
//! - `promise <json>` names a broker that is about to be ended or paused and must run again;
//!   `kept <json>` cancels that.
//! - `owe <json>` names a command that undoes a command of the user; `paid <json>` cancels that.
//! - `renew` shows that the controller runs.
//! - `free` ends the guard: there is nothing left to undo.
//!
//! If the pipe closes without `free`, the controller was killed. If the controller is silent for
//! three seconds, it was stopped. In both cases the guard kills all held processes (and continues
//! stopped ones), runs the owed commands, and wakes or starts the promised brokers.
//!
//! The guard writes each entry to the ledger before it takes effect. If the guard itself is killed,
//! the controller, the next run or `tandem halt` can undo the rest.
//!
//! The guard signals processes by pidfd, never by pid: a pid may be reused by another process.

mod children;
mod command;
mod family;
mod gate;
mod halt;
mod handle;
mod holdings;
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
pub use family::{
    Family, Unended, WORK_MARK, children_of, end_marked, family_by, is_childless, signal_families,
    work_mark,
};
pub use gate::become_gated;
pub use halt::{halt, halt_suite, wake};
pub use handle::{Guard, Held, Unhealed};
pub use identity::{Identity, parent, raw_pid, started};
pub use kept_up::kept_up;
pub use ledger::{Page, page};
pub use line::{GuardError, Loss};
pub use rehearsal::{Rehearsal, rehearse};
pub use remains::{Remains, heal, heal_all, remains};
pub use revival::Revival;
pub use run::{PidScope, Purpose, Run, RunLocation, runs, state_home};
pub use strays::MARK;
pub use suites::{Entered, Suite, enter_suite, suites, suites_at, writable};
pub use undo::Undone;
pub use watch::watch;
