//! `partition`, `slow`, `protocol`: an edge is told what to do with what passes it, and told to
//! stop.

use super::Network;
use super::arena::{Arena, FaultError, Victim};
use crate::ids::FaultId;
use crate::time::Mono;

/// Puts it in force between all victims and the brokers.
pub(super) async fn inject(
    _arena: &Arena<'_>,
    _fault: &FaultId,
    _what: &Network,
    _victims: &[Victim],
) -> Result<Mono, FaultError> {
    Err(FaultError::NoEdges)
}

/// Lifts it.
pub(super) async fn heal(
    _arena: &Arena<'_>,
    _fault: &FaultId,
    _victims: &[Victim],
) -> Result<(), FaultError> {
    Ok(())
}
