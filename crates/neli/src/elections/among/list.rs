//! The elections among members: a line for each.

use std::fmt;

use std::time::Duration;

use super::{Config, Core, Elects, Means, Member, Steps, Votes};
use crate::elections::{allcall, bully, generation, quorum_lease, ring, zab};
use tandem_facts::time::Mono;

macro_rules! elections {
    ($(#[doc = $doc:literal] $election:ident: $name:literal => $instance:ty;)*) => {
        /// An election among the members of a group.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Among { $(#[doc = $doc] $election,)* }

        impl Among {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$election,)*];

            /// Its name in a topology.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$election => $name,)* }
            }

            /// What it is, in a sentence.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Self::$election => $doc,)* }.trim_start()
            }

            /// See [`Elects::VOTES`].
            #[must_use]
            pub const fn votes(self) -> bool {
                match self { $(Self::$election => <$instance as Elects>::VOTES,)* }
            }

            /// See [`Elects::EXCLUSIVE`].
            #[must_use]
            pub const fn is_exclusive(self) -> bool {
                match self { $(Self::$election => <$instance as Elects>::EXCLUSIVE,)* }
            }

            /// See [`Elects::TAKES_OVER`].
            #[must_use]
            pub const fn takes_over(self) -> bool {
                match self { $(Self::$election => <$instance as Elects>::TAKES_OVER,)* }
            }

            /// See [`Elects::BY`].
            #[must_use]
            pub const fn by(self) -> &'static str {
                match self { $(Self::$election => <$instance as Elects>::BY,)* }
            }

            /// See [`Elects::ENDS`].
            #[must_use]
            pub const fn ends(self) -> &'static str {
                match self { $(Self::$election => <$instance as Elects>::ENDS,)* }
            }

            /// See [`Elects::threshold`].
            #[must_use]
            pub fn threshold(self, session: Duration) -> Duration {
                match self {
                    $(Self::$election => <$instance as Elects>::threshold(session),)*
                }
            }

            /// See [`Elects::steps`].
            #[must_use]
            pub fn steps(self, means: &Means) -> Steps {
                match self { $(Self::$election => <$instance as Elects>::steps(means),)* }
            }

            /// A member that begins at `now`.
            #[must_use]
            pub fn begin(self, now: Mono, config: Config, votes: Option<&Votes>) -> Box<dyn Core> {
                match self {
                    $(Self::$election => {
                        Box::new(Member::<$instance>::new(now, config, votes))
                    })*
                }
            }
        }
    };
}

elections! {
    /// By votes of the members alone, each generation one leader: no Kafka and no store.
    Generation: "generation" => generation::Instance;
    /// By votes of the members alone, which are a lease: no Kafka and no store.
    QuorumLease: "quorum-lease" => quorum_lease::Instance;
    /// By the ids of the members that live: not exclusive, and without a fence.
    Bully: "bully" => bully::Instance;
    /// By the ranks of the members that live, and a lease: not exclusive, and without a fence.
    Allcall: "allcall" => allcall::Instance;
    /// By the ids of the members, which go round a ring: not exclusive, and without a fence.
    Ring: "ring" => ring::Instance;
    /// By acknowledgements of a majority, which the next in order asks for: not exclusive.
    Zab: "zab" => zab::Instance;
}

impl Among {
    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == name)
    }
}

impl fmt::Display for Among {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
