//! `duplicate`: somebody starts a member a second time. Both processes bear the same name and the
//! same `client.id`, and neither knows of the other; the broker takes the second for one member
//! more, since nobody here is a static member whose older self it would fence.
//!
//! The second process is written down as a life of its own, the member's next: what the two claim
//! at once is an overlap like any other. The heal is to send the second one home; one that does not
//! go is killed.

use futures_util::future::join_all;

use super::Kind;
use super::arena::{Arena, FaultError, Victim};
use crate::controller::Twin;
use crate::ids::FaultId;
use crate::time::Mono;

/// Starts a second process for each victim, and adds it to `twins`; when the last of them ran.
pub(super) async fn inject(
    arena: &Arena<'_>,
    fault: &FaultId,
    victims: &[Victim],
    twins: &tokio::sync::Mutex<Vec<Twin>>,
) -> Result<Mono, FaultError> {
    let mut twins = twins.lock().await;
    let mut last = Mono::ZERO;
    for victim in victims {
        // Asked of the life that is about to begin: its start is the fault, and no restart.
        let life = victim.slot.next_life();
        arena.asked_of(&life, fault, Kind::Duplicate);
        let twin = arena.fleet.twin(&life).map_err(|error| FaultError::Twin {
            life: life.clone(),
            why: crate::error::chain(&error),
        })?;
        twins.push(twin);
        last = arena.in_force_of(&life, fault);
    }
    Ok(last)
}

/// Sends all of them home. One that cannot be ended keeps no other.
pub(super) async fn heal(
    arena: &Arena<'_>,
    fault: &FaultId,
    twins: &tokio::sync::Mutex<Vec<Twin>>,
) -> Result<(), FaultError> {
    let twins = std::mem::take(&mut *twins.lock().await);
    let ends = twins.into_iter().map(|twin| async move {
        let life = twin.life().clone();
        if twin.end().await {
            arena.healed_of(&life, fault);
            return Ok(());
        }
        Err(FaultError::Twin { life, why: "it does not end".to_owned() })
    });
    join_all(ends).await.into_iter().collect()
}
