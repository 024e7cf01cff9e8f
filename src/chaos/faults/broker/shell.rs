//! How brokers are killed, asked to end, or paused: by any fault that strikes them. Their heal is
//! to start or to wake them, and to wait until they serve.

use std::time::Duration;

use futures_util::future::join_all;
use rustix::process::Signal;

use super::How;
use crate::chaos::Case;
use crate::chaos::arena::{Arena, FaultError};
use crate::controller::{Broker, BrokerError};
use crate::time::Mono;

impl How {
    fn signal(self) -> Signal {
        match self {
            Self::Kill => Signal::KILL,
            Self::Stop => Signal::TERM,
            Self::Pause => Signal::STOP,
        }
    }
}

/// Strikes all of them at once; when the last was known to be gone, or to stand still.
pub(in crate::chaos) async fn inject(case: &Case<'_>, how: How) -> Result<Mono, FaultError> {
    let (signal, brokers) = (how.signal(), &case.aim.brokers);
    for broker in brokers {
        let Some(revival) = broker.revival(signal) else { continue };
        case.arena.guard.promise(&revival).map_err(|error| FaultError::Broker {
            address: broker.address.clone(),
            why: format!("not struck: {error}"),
        })?;
    }
    for broker in brokers {
        case.asked_broker(broker);
        tracing::info!(address = broker.address, ?how, "A broker is struck.");
    }
    let struck = brokers.iter().map(|broker| async move {
        broker.strike(signal).await.map_err(|error| failed(broker, &error))
    });
    first(join_all(struck).await)?;
    Ok(case.in_force(None))
}

/// Starts or wakes them after their time, or at once where the run stops, and waits until they
/// serve. One that does not come back keeps no other away.
pub(in crate::chaos) async fn heal(
    case: &Case<'_>,
    how: How,
    after: Duration,
) -> Result<(), FaultError> {
    let arena = case.arena;
    tokio::select! {
        biased;
        () = arena.stop.cancelled() => {}
        () = tokio::time::sleep(after) => {}
    }
    let back = case.aim.brokers.iter().map(|broker| async move {
        let outcome = revive(arena, how, broker).await;
        // Without a guard nothing is started, and a broker of the run's own ends with the run: it
        // stays away, and that leaves nothing behind.
        if outcome.is_err() && broker.revival(how.signal()).is_none() && !arena.guard.lives() {
            return Ok(false);
        }
        outcome.map(|()| true).map_err(|error| failed(broker, &error))
    });
    let back: Result<Vec<bool>, FaultError> = join_all(back).await.into_iter().collect();
    if back?.into_iter().all(|back| back) {
        case.healed(None);
    }
    Ok(())
}

/// Starts or wakes one of them, and waits until it serves.
async fn revive(arena: &Arena<'_>, how: How, broker: &Broker) -> Result<(), BrokerError> {
    match how {
        How::Kill | How::Stop => broker.start(arena.guard).await?,
        How::Pause => broker.wake().await?,
    }
    // From here on it runs, and a second one would only be in its way.
    if let Some(revival) = broker.revival(how.signal()) {
        arena.guard.kept(&revival);
    }
    broker.serves(arena.plan, arena.clusters).await
}

fn first(outcomes: Vec<Result<(), FaultError>>) -> Result<(), FaultError> {
    outcomes.into_iter().collect()
}

fn failed(broker: &Broker, error: &BrokerError) -> FaultError {
    FaultError::Broker { address: broker.address.clone(), why: crate::error::chain(error) }
}
