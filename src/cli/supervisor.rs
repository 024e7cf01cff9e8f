//! `tandem supervisor`: the process that keeps brokers and members running, started only by
//! `tandem up`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{OnceLock, PoisonError};

use tokio::sync::broadcast;
use tokio::task::JoinSet;

use super::signals::Interrupt;
use super::{ASIDE, Failure};
use crate::host::own_program;
use crate::observation::Outcome;
use crate::run::{Charge, Ended, RunError, Surroundings, supervise};
use crate::supervision::Start;
use crate::telemetry::Operations;
use crate::verdict::Exit;

/// How many lines of the log a client may be behind.
const LINES: usize = 1_024;
/// The longest charge, in bytes.
const CHARGE_MAX: u64 = 64 << 20;

/// The lines of the log, for all that watch.
static TAP: OnceLock<broadcast::Sender<String>> = OnceLock::new();

fn tap() -> &'static broadcast::Sender<String> {
    TAP.get_or_init(|| broadcast::Sender::new(LINES))
}

/// What this process does, for traces.
static OPERATIONS: OnceLock<Operations> = OnceLock::new();

fn operations() -> &'static Operations {
    OPERATIONS.get_or_init(Operations::default)
}

/// Logs to all that watch and to the file, and keeps what this process does.
pub(super) fn start_log() {
    super::log_to(log, super::log_lines::ALL, Some(operations().layer()));
}

/// The output of the log: all that watch, and the file in the folder of the run.
fn log() -> Box<dyn Write> {
    Box::new(Log)
}

struct Log;

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        // Without clients it stands in the file.
        tap().send(text).ok();
        let file = ASIDE.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_ref().map_or(Ok(line.len()), |mut file| file.write_all(line).map(|()| line.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps up what standard input says, until it ends.
pub(super) fn run() -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::new(Exit::Unable, &error);
    let mut charge = String::new();
    io::stdin().lock().take(CHARGE_MAX).read_to_string(&mut charge).map_err(failed)?;
    let charge: Charge =
        serde_json::from_str(&charge).map_err(|error| Failure::new(Exit::Unable, &error))?;
    let program = own_program();
    // Members write many short lines. With a second worker, waking it took a sixth of the CPU time
    // of an idle process.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(failed)?;
    let ended = runtime.block_on(keep_up(&charge, &program));
    // Do not wait for blocking calls of Kafka clients.
    runtime.shutdown_background();
    match ended {
        Ok(Ended { how: Outcome::Completed | Outcome::Interrupted, .. }) => Ok(Exit::Pass),
        Ok(Ended { why, .. }) => Err(Failure::text(Exit::Unknown, why.unwrap_or_default())),
        Err(error) => {
            let why = Failure::new(Exit::Unable, &error).to_string();
            super::log_lines::finish();
            say(&Start::Failed { interrupted: matches!(error, RunError::Interrupted), why });
            Ok(Exit::Unable)
        }
    }
}

async fn keep_up(charge: &Charge, program: &Path) -> Result<Ended, RunError> {
    let interrupt = Interrupt::patient();
    let _signals = interrupt
        .listen()
        .map_err(|failure| RunError::Thread(io::Error::other(failure.to_string())))?;
    let mut lines = tap().subscribe();
    let mut starting = JoinSet::new();
    let until_ready = starting.spawn(async move {
        while let Ok(line) = lines.recv().await {
            say(&Start::Log(line));
        }
    });
    let on_ready = || {
        until_ready.abort();
        say(&Start::Ready);
    };
    let around = Surroundings {
        program,
        log: tap().clone(),
        operations: operations().clone(),
        on_folder: &|logs| log_into(&logs.join("supervisor.log")),
        on_ready: &on_ready,
    };
    supervise(charge, &around, interrupt.token()).await
}

/// Writes the log, and what else comes on standard error, to a file: the terminal may end before
/// this process.
fn log_into(path: &Path) {
    let file = File::options().append(true).create(true).open(path);
    let opened = file.and_then(|file| {
        rustix::stdio::dup2_stderr(&file)?;
        *ASIDE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        Ok(())
    });
    if let Err(error) = opened {
        tracing::warn!(%error, path = %path.display(), "The supervisor's log has no file.");
    }
}

/// Writes one message to standard output; a `tandem up` that is gone needs none.
fn say(message: &Start) {
    let mut out = super::console::out();
    out.write_all(&message.line()).and_then(|()| out.flush()).ok();
}
