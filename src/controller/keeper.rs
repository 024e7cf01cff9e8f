//! Keeps one member alive: starts one process after the other, and records what each writes.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::info_span;

use super::recipe::Recipe;
use super::slot::lock;
use super::{Phase, Process, ProcessEnd, Recorder, Slot};
use crate::ids::Life;
use crate::member::MemberCommand;
use crate::observation::{Fact, MemberEvent, RunEvent, What};
use crate::telemetry::names;
use crate::time::Mono;

/// How long to read the last facts of a dead member.
const DRAIN: Duration = Duration::from_secs(1);
/// The wait after a failed start, and the least time between two starts of a member.
const RETRY: Duration = Duration::from_secs(1);

/// How a member is started, and started again. It may change; a process keeps to what it was
/// started with.
pub(super) struct Upkeep {
    pub(super) recipe: Recipe,
    /// How long after its death.
    pub(super) restart_after: Duration,
    /// What its latest process was started with.
    pub(super) started: Option<Recipe>,
}

/// Keeps one member alive.
pub(super) struct Keeper {
    pub(super) slot: Arc<Slot>,
    pub(super) upkeep: Arc<Mutex<Upkeep>>,
    pub(super) stop: CancellationToken,
    /// Says that it has ended.
    pub(super) done: DropGuard,
}

impl Keeper {
    /// Starts one process after the other, until it is stopped.
    pub(super) async fn keep(self) {
        while !self.stop.is_cancelled() {
            let life = self.slot.next_life();
            let born = Mono::now();
            let span = info_span!(
                target: names::LIVE,
                names::START_MEMBER,
                neli.member = %life.member,
                neli.incarnation = life.incarnation.0
            );
            let recipe = {
                let mut upkeep = lock(&self.upkeep);
                upkeep.started = Some(upkeep.recipe.clone());
                upkeep.recipe.clone()
            };
            let started = span.in_scope(|| recipe.start(life.clone()));
            drop(span);
            let wait = match started {
                Ok((process, facts)) => {
                    let died = self.live(&life, &recipe, process, facts).await;
                    let next = match self.slot.take_restart() {
                        Some(asked) => died + asked,
                        None => next_life(born, died, lock(&self.upkeep).restart_after),
                    };
                    next.since(Mono::now())
                }
                Err(error) => {
                    tracing::error!(%error, %life, "A member cannot be started.");
                    RETRY
                }
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                () = tokio::time::sleep(wait) => {}
            }
        }
        drop(self.done);
    }

    /// Follows one life to its end. Returns when it died.
    async fn live(
        &self,
        life: &Life,
        recipe: &Recipe,
        process: Process,
        facts: ChildStdout,
    ) -> Mono {
        let process = Arc::new(process);
        let record = &recipe.record;
        let born =
            record.note(Some(life), RunEvent::Started { pid: process.pid(), external: None });
        self.slot.born(born, life.incarnation, Arc::clone(&process));
        if self.stop.is_cancelled() {
            // It was stopped before this process could be asked.
            process.order(&MemberCommand::Leave.line()).ok();
        }
        let on_death = |member_id| {
            let latest = lock(&self.upkeep).recipe.clone();
            latest.ended(life, process.pid(), member_id);
        };
        let died = live_out(life, &process, facts, record, on_death).await;
        self.slot.turn(died, Phase::Absent);
        died
    }
}

/// When to restart a member that started at `born` and died at `died`, if no fault has set another
/// time. A member that dies at each start must not be restarted in a busy loop.
fn next_life(born: Mono, died: Mono, restart_after: Duration) -> Mono {
    (died + restart_after).max(born + RETRY)
}

/// Records what a process writes as facts of `life`, until it has ended and its output is read.
/// Records its death as well, and returns when that was. Calls `on_death` at once when it died,
/// with the id by which its group knew it last.
pub(super) async fn live_out(
    life: &Life,
    process: &Process,
    facts: ChildStdout,
    record: &Recorder,
    on_death: impl FnOnce(Option<String>),
) -> Mono {
    let known = Mutex::default();
    let mut relay = pin!(relay(life, facts, record, &known));
    let mut drained = false;
    let exit: ProcessEnd = tokio::select! {
        biased;
        exit = process.ended() => exit,
        () = &mut relay => {
            drained = true;
            process.ended().await
        }
    };
    let died = Mono::now();
    on_death(lock(&known).take());
    // Its last facts are still in the pipe, and must be recorded before its death.
    if !drained {
        tokio::time::timeout(DRAIN, relay).await.ok();
    }
    let ProcessEnd { signal, status } = exit;
    record.note_at(died, Some(life), RunEvent::Died { signal, status });
    died
}

/// Passes each line of a member to the recorder, as a fact of `life`. Keeps the id by which its
/// group knows it in `known`, while it has not left.
async fn relay(life: &Life, facts: ChildStdout, record: &Recorder, known: &Mutex<Option<String>>) {
    let mut lines = BufReader::new(facts).lines();
    loop {
        match lines.next_line().await {
            Ok(Some(line)) => match serde_json::from_str::<Fact>(&line) {
                // A second process of a member uses the name of the first, so the life that the
                // process was started for counts.
                Ok(fact) => {
                    if let What::Member(MemberEvent::Assigned { member_id, .. }) = &fact.what {
                        lock(known).clone_from(member_id);
                    } else if fact.what == What::Member(MemberEvent::Leaving) {
                        *lock(known) = None;
                    }
                    record.take(Fact { life: Some(life.clone()), ..fact });
                }
                // Its sequence number will be missing, so the report counts its time as unknown.
                Err(error) => tracing::warn!(%life, %error, line, "A member wrote a bad line."),
            },
            Ok(None) => return,
            Err(error) => return tracing::warn!(%life, %error, "A member's output broke off."),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::next_life;
    use crate::time::Mono;

    fn at(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    #[test]
    fn a_member_that_dies_at_each_start_is_not_restarted_at_once() {
        let next = |born, died, after| next_life(at(born), at(died), Duration::from_millis(after));
        assert_eq!(next(5_000, 5_001, 0), at(6_000), "a restart after nothing must not spin");
        assert_eq!(next(5_000, 5_001, 2_000), at(7_001), "the topology's pause is longer");
        assert_eq!(next(5_000, 9_000, 0), at(9_000), "it lasted");
    }
}
