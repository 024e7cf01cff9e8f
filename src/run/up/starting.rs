//! The supervisor's process: started as a child, or found again.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio_util::sync::CancellationToken;

use super::aftermath::clear;
use super::{Adopted, UpkeepRequest};
use crate::guard::Identity;
use crate::host::tandem;
use crate::run::RunError;
use crate::status_socket::StatusError;
use crate::supervision::{About, Start, Watching};
use crate::time::Mono;

/// How long it has to end after its last message.
const ENDS: Duration = Duration::from_secs(10);
/// How long it has to end when it is asked to.
const GRACE: Duration = Duration::from_secs(20);
/// How often to check whether it has ended.
const LOOK: Duration = Duration::from_millis(10);
/// How often it is asked for its first message, on a busy host.
const TRIES: u32 = 3;

/// A supervisor's process.
pub(super) struct Supervisor {
    process: Identity,
    /// `None` if another process has started it.
    child: Option<Child>,
}

/// What it says, from its first line.
pub(super) struct Said {
    pub(super) about: About,
    pub(super) watching: Watching,
}

impl Supervisor {
    /// Starts one, and waits until brokers and topics are there. It outlives this process.
    ///
    /// # Errors
    /// It could not start, and has ended. Or another process watches it already.
    pub(super) async fn start(
        request: &UpkeepRequest,
        interrupt: &CancellationToken,
    ) -> Result<(Self, Said), RunError> {
        let mut command = tandem(&request.program);
        command.arg("supervisor").stdin(Stdio::piped()).stdout(Stdio::piped());
        // Outside the terminal's foreground group: Ctrl-C and the end of the terminal must reach
        // only this process.
        command.process_group(0);
        let mut child = tokio::process::Command::from(command).spawn().map_err(RunError::Spawn)?;
        let broken = || RunError::Spawn(io::ErrorKind::BrokenPipe.into());
        let process = child.id().and_then(Identity::of).ok_or_else(broken)?;
        (request.on_supervisor)(process);
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or_else(broken)?;
        let supervisor = Self { process, child: Some(child) };
        let lines = BufReader::new(output).lines();
        if let Err(error) = ready(request, input, lines, &supervisor, interrupt).await {
            supervisor.ended().await;
            let RunError::Spawn(_) = error else { return Err(error) };
            // It has not said that it could not start.
            let (ended, done) = clear(process).await;
            done.iter().for_each(|line| (request.on_log)(line));
            return Err(RunError::Unsupervised { why: ended.why.unwrap_or_default() });
        }
        match first_message(process.pid).await {
            Ok((about, watching)) => Ok((supervisor, Said { about, watching })),
            // It goes on: another `tandem up` has taken the place of this one.
            Err(error @ StatusError::Refused { .. }) => Err(error.into()),
            Err(error) => {
                supervisor.ask_to_end();
                supervisor.ended_within(GRACE).await;
                Err(error.into())
            }
        }
    }

    /// Watches one that runs already.
    ///
    /// # Errors
    /// It has ended meanwhile, does not answer, or another process watches it.
    pub(super) async fn adopt(
        request: &UpkeepRequest,
        adopted: &Adopted,
    ) -> Result<(Self, Said), RunError> {
        let (about, watching) = adopted.found.watch(adopted.replace).await?;
        let ended = || StatusError::Dead { pid: about.pid };
        let process = Identity::of(about.pid).ok_or_else(ended)?;
        (request.on_supervisor)(process);
        Ok((Self { process, child: None }, Said { about, watching }))
    }

    /// Its process.
    pub(super) fn process(&self) -> Identity {
        self.process
    }

    /// Asks it to end all that it keeps up, and itself.
    pub(super) fn ask_to_end(&self) {
        if let Err(error) = self.process.signal(&[Signal::INT, Signal::CONT]) {
            tracing::warn!(%error, "The supervisor cannot be asked to end.");
        }
    }

    /// Kills it; its guard does the rest.
    pub(super) fn kill(&self) {
        if let Err(error) = self.process.signal(&[Signal::KILL, Signal::CONT]) {
            tracing::warn!(%error, "The supervisor cannot be killed.");
        }
    }

    /// Waits for its end. Returns whether it has ended within this time.
    pub(super) async fn ends_within(&self, within: Duration) -> bool {
        let began = Mono::now();
        while self.process.lives() {
            if Mono::now().since(began) >= within {
                return false;
            }
            tokio::time::sleep(LOOK).await;
        }
        true
    }

    /// Waits until it has ended, as it should by itself, and kills it if it does not.
    pub(super) async fn ended(self) {
        self.ended_within(ENDS).await;
    }

    async fn ended_within(mut self, within: Duration) {
        if !self.ends_within(within).await {
            tracing::warn!(pid = self.process.pid, "The supervisor does not end, and is killed.");
            self.kill();
        }
        if let Some(child) = &mut self.child {
            tokio::time::timeout(ENDS, child.wait()).await.ok();
        }
    }
}

/// Watches a supervisor that was started a moment ago.
async fn first_message(pid: u32) -> Result<(About, Watching), StatusError> {
    let mut tries = 1;
    loop {
        match Watching::of(pid).await {
            Err(StatusError::Silent { .. } | StatusError::Broken { .. }) if tries < TRIES => {
                tries += 1;
            }
            done => return done,
        }
    }
}

/// Hands over the charge, and waits for the word that brokers and topics are there.
async fn ready(
    request: &UpkeepRequest,
    mut input: ChildStdin,
    mut lines: Lines<BufReader<ChildStdout>>,
    supervisor: &Supervisor,
    interrupt: &CancellationToken,
) -> Result<(), RunError> {
    let charge =
        serde_json::to_vec(&request.charge()).map_err(|error| RunError::Spawn(error.into()))?;
    input.write_all(&charge).await.map_err(RunError::Spawn)?;
    drop(input);
    let mut asked = false;
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line.map_err(RunError::Spawn)?,
            () = interrupt.cancelled(), if !asked => {
                asked = true;
                supervisor.ask_to_end();
                continue;
            }
        };
        let died = || RunError::Spawn(io::ErrorKind::UnexpectedEof.into());
        let line = line.ok_or_else(died)?;
        match serde_json::from_str(&line).map_err(|error| RunError::Spawn(error.into()))? {
            Start::Ready => return Ok(()),
            Start::Log(line) => (request.on_log)(&line),
            Start::Failed { interrupted: true, .. } => return Err(RunError::Interrupted),
            Start::Failed { why, .. } => return Err(RunError::Unsupervised { why }),
        }
    }
}
