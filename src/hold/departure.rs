//! Leaves the group for a `tandem hold` that has died (`on_death: leave`, `stand-in`): its keeper
//! does, which outlives it, once nothing of the command is left.
//!
//! A process that is stopped, hangs or has lost its keeper is not dead, and one that ends of its
//! own accord leaves by itself, or has a reason not to.

use std::num::NonZeroU32;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};

use crate::guard::Identity;
use crate::host::DEATH;
use crate::ids::{ConsumerGroup, Life, TopicName};
use crate::kafka::{Access, Cluster};
use crate::time::{Mono, Span};
use crate::topology::{OnDeath, PlannedGroup};
use tandem_member::{Config, leave_for};

/// A group that does not hear of the leave within this waits for the session anyway.
const WITHIN: Duration = Duration::from_secs(5);

/// What a keeper must know to leave for the process that it serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Departure {
    holder: Identity,
    life: Life,
    bootstrap: String,
    access: Access,
    topic: TopicName,
    width: NonZeroU32,
    group: ConsumerGroup,
    /// By which the group knows the member.
    member_id: String,
    /// How long after its death a promise may last that it gave to other programs than the command.
    promised: Span,
}

/// How a keeper leaves, before the group knows the member.
#[derive(Debug, Clone)]
pub struct Departs {
    config: Config,
    promised: Span,
}

impl Departs {
    /// In a group that waits for no session of the dead. Programs that ask at a `sidecar` may have
    /// promises of an exclusive member.
    #[must_use]
    pub fn of(group: &PlannedGroup, config: &Config, sidecar: bool) -> Option<Self> {
        let promises = sidecar && config.mode.is_exclusive();
        let promised = Span(if promises { config.hold } else { Duration::ZERO });
        match group.pace.on_death {
            OnDeath::Leave | OnDeath::StandIn => Some(Self { config: config.clone(), promised }),
            OnDeath::Expire => None,
        }
    }

    /// By this id the group knows the member.
    pub(super) fn known_as(&self, member_id: &str) -> Departure {
        let Config { life, cluster, topic, width, consumer_group, .. } = self.config.clone();
        let Cluster { bootstrap, access } = cluster;
        let (holder, group, promised) = (Identity::own(), consumer_group, self.promised);
        let member_id = member_id.to_owned();
        Departure { holder, life, bootstrap, access, topic, width, group, member_id, promised }
    }
}

impl Departure {
    /// Leaves, if the process is dead; nothing of its command may be left.
    pub(super) fn leave(self) {
        if !self.is_dead() {
            tracing::debug!("The keeper does not leave for a process that lives.");
            return;
        }
        std::thread::sleep(self.promised.get());
        let Self { life, bootstrap, access, topic, width, group, member_id, .. } = self;
        let cluster = Cluster { bootstrap, access };
        // An attempt lasts no longer than a session: not the usual one, which is shorter.
        let config = Config { session: WITHIN, ..Config::new(life, cluster, topic, width, group) };
        match leave_for(&config, &member_id, WITHIN) {
            Ok(()) => {
                tracing::debug!(life = %config.life, "The keeper left the group for the dead.");
            }
            Err(error) => {
                let error = crate::error::chain(&error);
                tracing::warn!(life = %config.life, error, "Nothing left the group for the dead.");
            }
        }
    }

    /// Waits a while for the end of the process, whose socket has closed.
    fn is_dead(&self) -> bool {
        let Ok(process) = self.holder.open() else { return false };
        // No such process.
        let Some(process) = process else { return true };
        let by = Mono::now() + DEATH;
        loop {
            let left = by.since(Mono::now());
            let within = Timespec::try_from(left).ok();
            // Interrupted by a signal: look again.
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], within.as_ref()) {
                Ok(ended) if ended > 0 => return true,
                Ok(_) | Err(_) if left.is_zero() => return false,
                Ok(_) | Err(_) => {}
            }
        }
    }
}
