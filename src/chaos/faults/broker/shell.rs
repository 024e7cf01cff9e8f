//! Kills, stops or pauses brokers, for every fault that hits brokers. The heal starts or continues
//! them, and waits until they serve.

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

/// Hits all brokers at once. Returns the instant when the last was known to be gone or stopped.
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

/// Starts or continues the brokers after their time, or at once if the run stops, and waits until
/// they serve. One that does not come back does not keep the others away.
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
        // Without a guard no broker is started, and a broker of the run ends with the run: it stays
        // down, and nothing is left behind.
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

/// Starts or continues one broker, and waits until it serves.
async fn revive(arena: &Arena<'_>, how: How, broker: &Broker) -> Result<(), BrokerError> {
    match how {
        How::Kill | How::Stop => broker.start(arena.guard).await?,
        How::Pause => broker.wake().await?,
    }
    // The broker runs from here on; the guard must not start a second one.
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
