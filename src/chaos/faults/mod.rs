//! The faults. Each has one file with its word and fields, its targets, its cost, its description
//! in a dry run, and the class by which it is judged. `NAME/shell.rs` below it injects and heals
//! it. The list in this file names all faults; no other file does.
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

/// Derives the words, the faults and the one `match` over them from the list.
macro_rules! faults {
    ($($(#[$doc:meta])* $Name:ident($Fault:ty): $file:ident,)*) => {
        /// The word for a fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $Name,)*
        }

        impl Kind {
            /// All words.
            pub const ALL: [Self; [$(Self::$Name),*].len()] = [$(Self::$Name),*];

            /// What all steps with this word share.
            #[must_use]
            pub fn word(self) -> &'static Word {
                match self {
                    $(Self::$Name => &$file::WORD,)*
                }
            }
        }

        /// A fault with its parameters.
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
    /// A process is paused.
    Pause(pause::Pause): pause,
    /// Nothing passes.
    Partition(Network): partition,
    /// What passes is late.
    Slow(Network): slow,
    /// Some requests fail.
    Protocol(Network): protocol,
    /// A broker dies, or is paused.
    Broker(Broker): broker,
    /// A wall clock is wrong.
    Clock(clock::Clock): clock,
    /// Members leave and come back.
    Churn(churn::Churn): churn,
    /// A second process runs with the same name.
    Duplicate(duplicate::Duplicate): duplicate,
    /// Members leave and come back, one after the other.
    Rollout(rollout::Rollout): rollout,
    /// Faults drawn from the seed, again and again.
    Storm(Storm): storm,
    /// A command of the user's is run.
    Exec(exec::Exec): exec,
    /// Nothing happens.
    Noop(noop::Noop): noop,
}

impl AnyFault {
    /// The faults that it injects: itself, or the ones that it is made of.
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
