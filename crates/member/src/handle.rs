//! The handle of a member, for the program that embeds it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::{Mono, Skew};

use crate::driver::{Command, Driver};
use crate::kafka::KafkaError;
use crate::{Claims, Config, Event};

/// The capacity of the command queue; further commands are dropped.
const COMMANDS_MAX: usize = 16;
/// The longest time that leaving takes, since closing the client can hang.
const LEAVE_MAX: Duration = Duration::from_secs(3);

/// One member that has joined or is joining. Dropping the handle makes it leave in the background.
#[derive(Debug)]
pub struct Member {
    claims: Arc<Claims>,
    commands: SyncSender<Command>,
    gone: Receiver<()>,
}

/// Why a member could not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The client refuses its configuration; another attempt with the same configuration fails,
    /// too.
    #[error("the member cannot start its Kafka client")]
    Kafka(#[from] KafkaError),
    /// The mesh cannot listen; another attempt may succeed.
    #[error("the member cannot listen for the other members of its group")]
    Mesh(#[source] std::io::Error),
    /// The system refuses a thread; another attempt may succeed.
    #[error("the member cannot start its thread")]
    Thread(#[source] std::io::Error),
}

impl Member {
    /// Joins the group on a new thread and returns at once, before the group answers. That thread
    /// passes each event with its instant to `on_event`, and waits for it, so `on_event` must not
    /// block.
    ///
    /// # Errors
    /// The client refuses its configuration, or the system a thread.
    pub fn join(
        config: &Config,
        on_event: impl FnMut(Mono, Event) + Send + 'static,
    ) -> Result<Self, JoinError> {
        Self::join_with(Arc::new(Claims::new(config.width)), config, on_event)
    }

    /// Joins as [`join`](Self::join) does, and publishes its claims to `claims`.
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
                // Last, because destroying a client can hang.
                drop(rest);
            })
            .map_err(JoinError::Thread)?;
        Ok(Self { claims, commands, gone })
    }

    /// Whether the member leads `partition` now.
    #[must_use]
    pub fn leads(&self, partition: PartitionId) -> bool {
        self.claims.led(Mono::now()).contains(&partition)
    }

    /// The member's claims, for other threads of the program.
    #[must_use]
    pub fn claims(&self) -> Arc<Claims> {
        Arc::clone(&self.claims)
    }

    /// Says that the program is well. With [`Pulse::Program`](tandem_neli::Pulse::Program) in the
    /// fast mode a member whose program stops saying so loses its claim after `Q`. Call it at least
    /// each `Q / 3`; it does not block.
    pub fn pulse(&self) {
        // A full queue holds a pulse already.
        self.commands.try_send(Command::Pulse).ok();
    }

    /// Shifts the wall clock that stamps the member's beacons, for experiments. Claims depend on
    /// monotonic time alone.
    pub fn shift_clock(&self, skew: Skew) {
        self.commands.try_send(Command::Clock(skew)).ok();
    }

    /// Leaves the group, so that its partitions move at once, and waits for at most 3 s until it
    /// has left. The member leads until the group has released it, for at most 300 ms; then every
    /// claim has ended.
    pub fn leave(self) {
        self.commands.try_send(Command::Leave).ok();
        self.gone.recv_timeout(LEAVE_MAX).ok();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // A member that has already left takes no commands.
        self.commands.try_send(Command::Leave).ok();
    }
}
