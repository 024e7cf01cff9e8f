//! Runs a command, and the one that undoes it. The guard gets the undo first, so that it can also
//! undo a command that was cut short.

use std::cell::OnceCell;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use super::Exec;
use crate::chaos::arena::FaultError;
use crate::chaos::{Case, Injection};
use crate::error::chain;
use crate::guard::{MARK, UserCommand};
use crate::ids::Life;
use crate::time::Mono;

/// How often to check whether a command has ended.
const LOOK: Duration = Duration::from_millis(5);

pub(super) struct Shell {
    exec: Exec,
    /// The pending undo, once there may be something to undo.
    owed: OnceCell<UserCommand>,
}

impl Shell {
    pub(super) fn of(exec: Exec) -> Self {
        Self { exec, owed: OnceCell::new() }
    }

    /// One of the two commands, with the environment of this case.
    fn command(&self, case: &Case<'_>, words: &[String]) -> UserCommand {
        let Case { arena, fault, .. } = case;
        let lives: Vec<String> = lives(case).iter().map(ToString::to_string).collect();
        let pids = case.victims().iter().filter_map(|victim| victim.slot.process());
        let pids: Vec<String> = pids.map(|process| process.pid().to_string()).collect();
        let environment = [
            (MARK, arena.guard.mark().to_owned()),
            ("TANDEM_TOPOLOGY", arena.plan.topology.to_string()),
            ("TANDEM_TRIAL", fault.trial.to_string()),
            ("TANDEM_FAULT", fault.to_string()),
            ("TANDEM_LIVES", lives.join(" ")),
            ("TANDEM_PIDS", pids.join(" ")),
        ];
        UserCommand {
            command: words.to_vec(),
            folder: arena.guard.folder().to_owned(),
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            timeout: self.exec.timeout,
            log: arena.guard.folder().join(format!("logs/exec-{fault}.log")),
        }
    }
}

impl Injection for Shell {
    /// Runs the command. Returns the instant when it was done.
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async move {
            let undo = self.command(case, &self.exec.undo);
            case.arena.guard.owe(&undo).map_err(|error| FaultError::Failed(chain(&error)))?;
            self.owed.get_or_init(|| undo);
            for_each_life(case, |life| case.asked(life));
            run(case, &self.command(case, &self.exec.command), true).await?;
            let mut last = Mono::ZERO;
            for_each_life(case, |life| last = case.in_force(life));
            Ok(last)
        })
    }

    /// Runs the undo. If it fails, the guard tries again when the run ends.
    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(async move {
            let Some(undo) = self.owed.get() else { return Ok(()) };
            run(case, undo, false).await?;
            case.arena.guard.paid(undo);
            for_each_life(case, |life| case.healed(life));
            Ok(())
        })
    }
}

fn lives<'a>(case: &'a Case<'_>) -> Vec<&'a Life> {
    case.victims().iter().map(|victim| &victim.life).collect()
}

/// Calls `note` with each victim's life, or once with `None` if there is no victim.
fn for_each_life(case: &Case<'_>, mut note: impl FnMut(Option<&Life>)) {
    let lives = lives(case);
    if lives.is_empty() {
        note(None);
    }
    lives.into_iter().for_each(|life| note(Some(life)));
}

/// Runs a command to its end. If `cut` is set, a stop of the run cuts it short.
async fn run(case: &Case<'_>, command: &UserCommand, cut: bool) -> Result<(), FaultError> {
    let failed = |why: String| FaultError::Failed(why);
    tracing::info!(%command, "A command of the experiment is run.");
    let guard = &case.arena.guard;
    let gate = [guard.program(), "gate".as_ref(), "--".as_ref()];
    let started = if cut { command.prepare(&gate) } else { command.start() };
    let mut running = started.map_err(|error| failed(chain(&error)))?;
    if cut {
        // The guard holds it before it begins: if the controller dies, the command ends before its
        // undo runs.
        guard.hold(running.pid()).map_err(|error| failed(chain(&error)))?;
        running.go().map_err(|error| failed(chain(&error)))?;
    }
    loop {
        if let Some(done) = running.poll(cut && case.arena.stop.is_cancelled()) {
            return done.map_err(|error| failed(chain(&error)));
        }
        tokio::time::sleep(LOOK).await;
    }
}
