//! `broker`: brokers are killed, asked to end, or paused; those of a machine are, by `kill`, `host`
//! and `pause`. Their heal is to start or to wake them, and to wait until they serve.

use std::time::Duration;

use futures_util::future::join_all;
use rustix::process::Signal;

use super::arena::{Arena, FaultError};
use super::{How, Kind};
use crate::controller::{Broker, BrokerError};
use crate::ids::FaultId;
use crate::observation::What;
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
pub(super) async fn inject(
    arena: &Arena<'_>,
    fault: &FaultId,
    (kind, how): (Kind, How),
    brokers: &[Broker],
) -> Result<Mono, FaultError> {
    let signal = how.signal();
    for broker in brokers {
        let Some(revival) = broker.revival(signal) else { continue };
        arena.guard.promise(&revival).map_err(|error| FaultError::Broker {
            address: broker.address.clone(),
            why: format!("not struck: {error}"),
        })?;
    }
    for broker in brokers {
        let asked = What::FaultAsked {
            fault: fault.clone(),
            kind: kind.as_str().to_owned(),
            class: kind.class(),
            broker: Some(broker.address.clone()),
            cluster: Some(broker.cluster.clone()),
        };
        arena.record.note(None, asked);
        tracing::info!(address = broker.address, ?how, "A broker is struck.");
    }
    let struck = brokers.iter().map(|broker| async move {
        broker.strike(signal).await.map_err(|error| failed(broker, &error))
    });
    first(join_all(struck).await)?;
    Ok(arena.record.note(None, What::FaultInForce { fault: fault.clone() }))
}

/// Starts or wakes them after their time, or at once where the run stops, and waits until they
/// serve. One that does not come back keeps no other away.
pub(super) async fn heal(
    arena: &Arena<'_>,
    fault: &FaultId,
    (how, after): (How, Duration),
    brokers: &[Broker],
) -> Result<(), FaultError> {
    tokio::select! {
        biased;
        () = arena.stop.cancelled() => {}
        () = tokio::time::sleep(after) => {}
    }
    let back = brokers.iter().map(|broker| async move {
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
        arena.record.note(None, What::FaultHealed { fault: fault.clone() });
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
