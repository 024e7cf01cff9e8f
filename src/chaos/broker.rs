//! `broker`: SIGKILL to the broker that coordinates a group. Its heal is to start it again.

use std::time::Duration;

use super::arena::{Arena, FaultError};
use crate::controller::{Broker, BrokerError};
use crate::ids::FaultId;
use crate::observation::What;
use crate::time::Mono;

/// Kills the broker; when it was known to be gone.
pub(super) async fn inject(
    arena: &Arena<'_>,
    fault: &FaultId,
    broker: Option<&Broker>,
) -> Result<Mono, FaultError> {
    let Some(broker) = broker else { return Err(nobody()) };
    let failed = |error: BrokerError| failed(broker, &error);
    arena.guard.promise(&broker.revival).map_err(|error| FaultError::Broker {
        address: broker.address.clone(),
        why: format!("not killed: {error}"),
    })?;
    let asked = What::FaultAsked {
        fault: fault.clone(),
        kind: "broker".to_owned(),
        broker: Some(broker.address.clone()),
        cluster: Some(broker.cluster_name.clone()),
    };
    arena.record.note(None, asked);
    tracing::info!(address = broker.address, "A broker is killed.");
    broker.kill().await.map_err(failed)?;
    Ok(arena.record.note(None, What::FaultInForce { fault: fault.clone() }))
}

/// Starts it again after its time, or at once where the run stops, and waits until it serves.
pub(super) async fn heal(
    arena: &Arena<'_>,
    fault: &FaultId,
    broker: Option<&Broker>,
    after: Duration,
) -> Result<(), FaultError> {
    let Some(broker) = broker else { return Err(nobody()) };
    tokio::select! {
        biased;
        () = arena.stop.cancelled() => {}
        () = tokio::time::sleep(after) => {}
    }
    let failed = |error: BrokerError| failed(broker, &error);
    broker.start().map_err(failed)?;
    // From here on it runs, and a second one would only be in its way.
    arena.guard.kept(&broker.revival);
    broker.serves().await.map_err(failed)?;
    arena.record.note(None, What::FaultHealed { fault: fault.clone() });
    Ok(())
}

fn nobody() -> FaultError {
    FaultError::Broker { address: "nowhere".to_owned(), why: "no broker was found".to_owned() }
}

fn failed(broker: &Broker, error: &BrokerError) -> FaultError {
    FaultError::Broker { address: broker.address.clone(), why: crate::error::chain(error) }
}
