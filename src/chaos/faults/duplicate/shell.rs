//! Starts a second process for a member, and stops it.

use futures_util::future::{LocalBoxFuture, join_all};
use tokio::sync::Mutex;

use crate::chaos::arena::FaultError;
use crate::chaos::{Case, Injection};
use crate::controller::Twin;
use crate::error::chain;
use crate::time::Mono;

/// The second processes that were started.
#[derive(Default)]
pub(super) struct Shell(Mutex<Vec<Twin>>);

impl Injection for Shell {
    /// Starts a second process for each victim. Returns the instant when the last of them ran.
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async move {
            let mut twins = self.0.lock().await;
            let mut last = Mono::ZERO;
            for victim in case.victims() {
                // Recorded for the life that is about to begin: its start is the fault, not a
                // restart.
                let life = victim.slot.next_life();
                case.asked(Some(&life));
                let twin = case.arena.fleet.twin(&life).map_err(|error| {
                    let why = chain(&error);
                    FaultError::Twin { life: life.clone(), why }
                })?;
                twins.push(twin);
                last = case.in_force(Some(&life));
            }
            Ok(last)
        })
    }

    /// Stops all second processes. One that does not end does not keep the others.
    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(async move {
            let twins = std::mem::take(&mut *self.0.lock().await);
            let ends = twins.into_iter().map(|twin| async move {
                let life = twin.life().clone();
                if twin.end().await {
                    case.healed(Some(&life));
                    return Ok(());
                }
                Err(FaultError::Twin { life, why: "it does not end".to_owned() })
            });
            join_all(ends).await.into_iter().collect()
        })
    }
}
