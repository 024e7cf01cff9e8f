//! A member as its program holds it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::{Mono, Skew};

use crate::driver::{Command, Driver};
use crate::kafka::KafkaError;
use crate::{Claims, Config, Event};

/// The most commands that may wait; more are refused.
const COMMANDS_MAX: usize = 16;
/// The longest that leaving takes: closing the client can hang.
const LEAVE_MAX: Duration = Duration::from_secs(3);

/// One member that has joined, or is about to. Dropped, it leaves in the background.
#[derive(Debug)]
pub struct Member {
    claims: Arc<Claims>,
    commands: SyncSender<Command>,
    gone: Receiver<()>,
}

/// Why a member could not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The client refuses its configuration. Joining again with the same one is refused again.
    #[error("the member cannot start its Kafka client")]
    Kafka(#[from] KafkaError),
    /// The system refuses a thread. May be tried again.
    #[error("the member cannot start its thread")]
    Thread(#[source] std::io::Error),
}

impl Member {
    /// Joins the group on a thread of its own, and returns at once: the group answers later, and
    /// what happens is reported to `on_event`, on that thread, with its instant. The thread waits
    /// for `on_event`, which must not block.
    ///
    /// # Errors
    /// The client refuses its configuration, or the system a thread.
    pub fn join(
        config: &Config,
        on_event: impl FnMut(Mono, Event) + Send + 'static,
    ) -> Result<Self, JoinError> {
        Self::join_with(Arc::new(Claims::new(config.width)), config, on_event)
    }

    /// The same with claims that others hold already.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn join_with(
        claims: Arc<Claims>,
        config: &Config,
        on_event: impl FnMut(Mono, Event) + Send + 'static,
    ) -> Result<Self, JoinError> {
        let (commands, received) = sync_channel(COMMANDS_MAX);
        let (done, gone) = sync_channel(1);
        let driver = Driver::new(config, Arc::clone(&claims), Box::new(on_event))?;
        let _ends_with_its_command = Builder::new()
            .name("member".to_owned())
            .spawn(move || {
                let rest = driver.live(&received);
                // The receiver is gone if leaving took too long.
                done.send(()).ok();
                // Last: destroying a client can hang.
                drop(rest);
            })
            .map_err(JoinError::Thread)?;
        Ok(Self { claims, commands, gone })
    }

    /// Whether it leads `partition` now.
    #[must_use]
    pub fn leads(&self, partition: PartitionId) -> bool {
        self.claims.led(Mono::now()).contains(&partition)
    }

    /// Its claims, for threads of its own.
    #[must_use]
    pub fn claims(&self) -> Arc<Claims> {
        Arc::clone(&self.claims)
    }

    /// Says that the program is well. With [`Pulse::Program`](tandem_neli::Pulse::Program) in the
    /// fast mode a member whose program stops saying so loses its claim after `Q`. Call it at least
    /// each `Q / 3`; it does not block.
    pub fn pulse(&self) {
        // A queue that is full holds a pulse already.
        self.commands.try_send(Command::Pulse).ok();
    }

    /// Shifts the wall clock that its beacons are stamped with: for experiments. Claims rest on
    /// monotonic time alone.
    pub fn shift_clock(&self, skew: Skew) {
        self.commands.try_send(Command::Clock(skew)).ok();
    }

    /// Leaves the group, so that its partitions move at once, and waits until it has left: 3 s at
    /// most. It leads on until the group has let it go, for 300 ms at most; then every claim has
    /// ended.
    pub fn leave(self) {
        self.commands.try_send(Command::Leave).ok();
        self.gone.recv_timeout(LEAVE_MAX).ok();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // One that is gone already takes no command.
        self.commands.try_send(Command::Leave).ok();
    }
}
