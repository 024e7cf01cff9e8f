//! The thread of a member: one driver while its program is well, none while it is ill.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::Builder;
use std::time::Duration;

use tandem_facts::ids::Incarnation;
use tandem_facts::time::Skew;

use crate::driver::Driver;
use crate::handle::Reporter;
use crate::kafka::Producer;
use crate::leaders::Leaders;
use crate::{Claims, Config, JoinError};

/// How often an ill member looks whether it is well again.
const LOOK: Duration = Duration::from_millis(20);
/// The wait before the client is started again, if it refused.
const AGAIN: Duration = Duration::from_secs(1);

/// A command to a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    /// Leave the group and end.
    Leave,
    /// Shift the wall clock by this from now on; zero corrects it.
    Clock(Skew),
    /// Its program is well.
    Pulse,
}

/// Why a driver has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was asked to leave.
    Left,
    /// It was asked to end, and not to leave.
    Halted,
    /// It does not work with another member of its group.
    Refused,
    /// Its program is ill; the member joins again when it is well.
    Ill,
}

/// Whether the program can do the work of a leader. The latest word counts, and a halt is the last.
#[derive(Debug)]
pub(crate) struct Health {
    well: AtomicBool,
    halted: AtomicBool,
}

impl Health {
    pub(crate) const fn new() -> Self {
        Self { well: AtomicBool::new(true), halted: AtomicBool::new(false) }
    }

    pub(crate) fn set(&self, well: bool) {
        self.well.store(well, Ordering::SeqCst);
    }

    pub(crate) fn is_well(&self) -> bool {
        self.well.load(Ordering::SeqCst)
    }

    /// From now on the member sends nothing to its group.
    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_halted(&self) -> bool {
        self.halted.load(Ordering::SeqCst)
    }
}

/// What all drivers of a member share.
pub(crate) struct Lives {
    pub(crate) config: Config,
    pub(crate) claims: Arc<Claims>,
    pub(crate) health: Arc<Health>,
    pub(crate) leaders: Arc<Leaders>,
    pub(crate) reporter: Reporter,
}

impl Lives {
    /// The clients of the life that the configuration names.
    pub(crate) fn driver(&self) -> Result<Driver, JoinError> {
        let (claims, health) = (Arc::clone(&self.claims), Arc::clone(&self.health));
        let leaders = Arc::clone(&self.leaders);
        Driver::new(&self.config, claims, health, leaders, self.reporter.on_event())
    }

    /// Runs until a command to leave arrives. The caller drops what is returned, since destroying a
    /// client can hang.
    pub(crate) fn live(mut self, driver: Driver, commands: &Receiver<Command>) -> Option<Producer> {
        let mut driver = Some(driver);
        loop {
            match driver.take().map(|driver| driver.live(commands)) {
                Some((Outcome::Left | Outcome::Halted | Outcome::Refused, rest)) => {
                    return Some(rest);
                }
                Some((Outcome::Ill, rest)) => {
                    // If the system refuses a thread, this one waits.
                    let dropped = Builder::new().name("close".to_owned());
                    dropped.spawn(move || drop(rest)).ok();
                }
                None => {}
            }
            driver = Some(self.revive(commands)?);
        }
    }

    /// Waits until the program is well, and starts the next life; none if the member is to leave.
    fn revive(&mut self, commands: &Receiver<Command>) -> Option<Driver> {
        let mut wait = LOOK;
        loop {
            match commands.recv_timeout(wait) {
                Ok(Command::Leave) | Err(RecvTimeoutError::Disconnected) => return None,
                Ok(Command::Clock(_) | Command::Pulse) => continue,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.health.has_halted() {
                return None;
            }
            if !self.health.is_well() {
                wait = LOOK;
                continue;
            }
            let next = self.config.life.incarnation.0.saturating_add(1);
            self.config.life.incarnation = Incarnation(next);
            match self.driver() {
                Ok(driver) => return Some(driver),
                Err(error) => {
                    let error = tandem_host::error::chain(&error);
                    tracing::warn!(error, "The member is well and cannot join yet.");
                    wait = AGAIN;
                }
            }
        }
    }
}
