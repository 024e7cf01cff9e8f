//! The faults. Each has one file: its word and fields, whom it can hit, what it costs, what a dry
//! run says of it, and its class, by which it is judged. How it is done and undone stands in
//! `NAME/shell.rs` below it. The list in this file names them all; nothing else does.
//!
//! ```text
//!  step --- Word::read ---> AnyFault --- cost, describe, ... ---> plan, dry run, limits
//!                               +------- injection ------> NAME/shell.rs: inject, heal
//! ```

mod broker;
mod churn;
mod clock;
mod duplicate;
mod end;
mod exec;
mod host;
mod kill;
mod leave;
mod network;
mod noop;
mod partition;
mod pause;
mod protocol;
mod rollout;
mod slow;
mod stop;
mod storm;
mod traits;
mod word;
mod written;

use std::ops::Deref;

pub use broker::How;
pub(super) use broker::{Broker, shell as brokers};
use end::End;
pub use end::Restart;
pub use network::{Far, Network};
pub use storm::Storm;
pub use traits::{Fault, Series};
pub use word::{InStorm, Need, Permission, Targets, Word};
pub use written::Written;

/// From the list, the words, the faults, and the one match over them.
macro_rules! faults {
    ($($(#[$doc:meta])* $Name:ident($Fault:ty): $file:ident,)*) => {
        /// The word for a fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $Name,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: [Self; [$(Self::$Name),*].len()] = [$(Self::$Name),*];

            /// What is the same in all steps with this word.
            #[must_use]
            pub fn word(self) -> &'static Word {
                match self {
                    $(Self::$Name => &$file::WORD,)*
                }
            }
        }

        /// A fault with all that it needs to know.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum AnyFault {
            $($(#[$doc])* $Name($Fault),)*
        }

        impl AnyFault {
            /// The word for it.
            #[must_use]
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$Name(_) => Kind::$Name,)*
                }
            }
        }

        impl Deref for AnyFault {
            type Target = dyn Fault;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$Name(fault) => fault,)*
                }
            }
        }
    };
}

faults! {
    /// A process dies.
    Kill(End): kill,
    /// A process leaves its group and ends.
    Leave(End): leave,
    /// A process ends without leaving.
    Stop(End): stop,
    /// All processes of a machine die.
    Host(End): host,
    /// A process is stopped for a while.
    Pause(pause::Pause): pause,
    /// Nothing passes.
    Partition(Network): partition,
    /// What passes is late.
    Slow(Network): slow,
    /// Some requests fail.
    Protocol(Network): protocol,
    /// A broker dies, or stands still.
    Broker(Broker): broker,
    /// A wall clock is wrong.
    Clock(clock::Clock): clock,
    /// Members go and come.
    Churn(churn::Churn): churn,
    /// A second process by the same name is there.
    Duplicate(duplicate::Duplicate): duplicate,
    /// Members leave and come back, one after the other.
    Rollout(rollout::Rollout): rollout,
    /// Anything, again and again.
    Storm(Storm): storm,
    /// A command of the user's own is run.
    Exec(exec::Exec): exec,
    /// Nothing happens.
    Noop(noop::Noop): noop,
}

impl AnyFault {
    /// What can strike: itself, or what it is made of.
    #[must_use]
    pub fn strikes(&self) -> Vec<Self> {
        match self.series() {
            None => vec![self.clone()],
            Some(Series::Drawn(storm)) => {
                storm.faults.iter().map(|(fault, _)| fault.clone()).collect()
            }
            Some(Series::InTurn(fault)) => vec![fault],
        }
    }
}
