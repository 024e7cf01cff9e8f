//! The broker of one embedded cluster: a process of the run. It keeps its address when it is
//! restarted, but loses all of its data.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpSocket;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::brokers::{BrokerError, STOPPED};
use super::log_file::LogFile;
use super::{ClusterError, Process, Recorder};
use crate::guard::Guard;
use crate::host::DEATH;
use crate::ids::ClusterName;
use crate::observation::RunEvent;
use crate::time::Mono;

/// How long a broker has to report its address.
const READY: Duration = Duration::from_secs(10);
/// How often to check whether a broker has stopped, after the signal to stop.
const LOOK: Duration = Duration::from_millis(1);
/// How often to check otherwise. Members notice a stopped broker only after seconds.
const LOOK_NOW_AND_THEN: Duration = Duration::from_millis(100);

/// The broker of one embedded cluster.
pub(super) struct Embedded {
    pub(super) cluster: ClusterName,
    address: SocketAddr,
    /// Reserves the port: bound, but never listening. Without it, a client that connects to the
    /// port of a dead broker may get that port as its own source port, and the next broker could
    /// not bind it.
    _reserved: TcpSocket,
    program: PathBuf,
    log: LogFile,
    record: Arc<Recorder>,
    life: watch::Sender<Option<Life>>,
    /// A fault has paused it, and checks its state itself.
    paused: AtomicBool,
}

/// One process of the broker, from its start to its end.
#[derive(Clone)]
struct Life {
    number: u64,
    process: Arc<Process>,
    /// A fault ended it, so its death is expected.
    asked: bool,
    /// It died unexpectedly, and that is recorded.
    lost: bool,
}

/// The first line of `tandem broker`.
#[derive(Deserialize)]
struct Listening {
    listening: SocketAddr,
}

impl Embedded {
    /// Reserves a free port. Nothing runs yet.
    pub(super) fn new(
        cluster: ClusterName,
        program: PathBuf,
        log: PathBuf,
        record: Arc<Recorder>,
    ) -> Result<Self, ClusterError> {
        let reserve = || {
            let socket = TcpSocket::new_v4()?;
            socket.set_reuseaddr(true)?;
            socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
            let address = socket.local_addr()?;
            Ok((socket, address))
        };
        let failed = |source| ClusterError::Port { cluster: cluster.clone(), source };
        let (reserved, address) = reserve().map_err(failed)?;
        let (log, life) = (LogFile::at(log), watch::Sender::new(None));
        let paused = AtomicBool::new(false);
        Ok(Self { cluster, address, _reserved: reserved, program, log, record, life, paused })
    }

    /// The address on which it listens.
    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Starts it, unless it runs, and waits until it listens.
    pub(super) async fn start(&self, guard: &Guard) -> Result<(), ClusterError> {
        if self.lives() {
            return Ok(());
        }
        let arguments = ["broker", "--listen", &self.address(), "--until-eof"].map(str::to_owned);
        let cluster = self.cluster.clone();
        let (process, stdout) = Process::start(&self.program, &arguments, &self.log, guard)
            .map_err(|source| ClusterError::Start { cluster: cluster.clone(), source })?;
        let mut lines = BufReader::new(stdout).lines();
        let first = tokio::time::timeout(READY, lines.next_line()).await;
        let line = first.ok().and_then(Result::ok).flatten().unwrap_or_default();
        match serde_json::from_str(&line) {
            Ok(Listening { listening }) if listening == self.address => {}
            Ok(_) | Err(_) => {
                // It must not hold the port of the next one.
                process.signal(Signal::KILL).ok();
                tokio::time::timeout(DEATH, process.ended()).await.ok();
                return Err(ClusterError::Silent { cluster, log: self.log.path().to_owned() });
            }
        }
        let (address, pid) = (self.address(), process.pid());
        self.record.note(None, RunEvent::ClusterStarted { cluster, address, pid });
        let process = Arc::new(process);
        self.paused.store(false, Ordering::Relaxed);
        self.life.send_modify(|life| {
            let number = life.as_ref().map_or(1, |before| before.number + 1);
            *life = Some(Life { number, process, asked: false, lost: false });
        });
        Ok(())
    }

    /// Records each unexpected death, and each stop that no fault caused.
    pub(super) async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let mut lives = self.life.subscribe();
        loop {
            let Some(life) = self.life() else { return };
            let stopped = self.ended(&life).await;
            if stop.is_cancelled() {
                return;
            }
            if !self.life().is_some_and(|now| now.asked || now.number > life.number) {
                tracing::error!(cluster = %self.cluster, "The broker of a cluster died.");
                self.record.note(None, RunEvent::ClusterDied { cluster: self.cluster.clone() });
                self.life.send_modify(|now| now.iter_mut().for_each(|now| now.lost = true));
            }
            let next = lives.wait_for(|now| now.as_ref().is_some_and(|it| it.number > life.number));
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = next => {}
            }
            if stopped {
                self.note_stop(false);
            }
        }
    }

    /// Waits until a life has ended, and records when it stops and continues. Returns whether it
    /// was stopped when it ended.
    async fn ended(&self, life: &Life) -> bool {
        let mut stopped = false;
        loop {
            tokio::select! {
                biased;
                _ = life.process.ended() => return stopped,
                () = tokio::time::sleep(LOOK_NOW_AND_THEN) => {}
            }
            if self.paused.load(Ordering::Relaxed) {
                continue;
            }
            while let Some(now) = life.process.halted() {
                stopped = now;
                self.note_stop(now);
            }
        }
    }

    /// Records that the broker stopped or continued: a stopped broker counts as lost.
    fn note_stop(&self, stopped: bool) {
        let (cluster, broker) = (self.cluster.clone(), self.address());
        let event = if stopped {
            RunEvent::BrokerLost { cluster, broker }
        } else {
            RunEvent::BrokerBack { cluster, broker }
        };
        self.record.note(None, event);
    }

    /// Returns when it has died unexpectedly, and that is recorded.
    pub(super) async fn lost(&self) {
        let mut lives = self.life.subscribe();
        // This fails only when `self.life` is dropped, which cannot happen here.
        lives.wait_for(|life| life.as_ref().is_some_and(|life| life.lost)).await.ok();
    }

    /// Whether it has died unexpectedly, and that is recorded.
    pub(super) fn is_lost(&self) -> bool {
        self.life().is_some_and(|life| life.lost)
    }

    /// The path of its log.
    pub(super) fn log(&self) -> &Path {
        self.log.path()
    }

    /// Ends it by `signal`, and waits until it has ended.
    pub(super) async fn end(&self, signal: Signal) -> Result<(), BrokerError> {
        let life = self.life().ok_or(BrokerError::Late("alive", Duration::ZERO))?;
        self.life.send_modify(|life| life.iter_mut().for_each(|life| life.asked = true));
        life.process.signal(signal).map_err(|error| BrokerError::Process("ended", error))?;
        let ended = tokio::time::timeout(DEATH, life.process.ended()).await;
        ended.map(drop).map_err(|_| BrokerError::Late("dead", DEATH))
    }

    /// Pauses or continues it, and waits until the kernel reports it.
    pub(super) async fn halt(&self, paused: bool) -> Result<(), BrokerError> {
        let Some(life) = self.life().filter(|_| self.lives()) else { return Ok(()) };
        let (signal, done) =
            if paused { (Signal::STOP, "paused") } else { (Signal::CONT, "woken") };
        self.paused.store(true, Ordering::Relaxed);
        life.process.signal(signal).map_err(|error| BrokerError::Process(done, error))?;
        let began = Mono::now();
        while Mono::now().since(began) < STOPPED {
            // Consume the stop here, or `StopWatcher` would see it.
            if life.process.halted() == Some(paused) {
                self.paused.store(paused, Ordering::Relaxed);
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(BrokerError::Late(done, STOPPED))
    }

    /// Sends it a signal, at the end of the run.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(life) = self.life() {
            life.process.signal(signal).ok();
        }
    }

    fn life(&self) -> Option<Life> {
        self.life.borrow().clone()
    }

    /// Whether its latest process runs.
    pub(super) fn lives(&self) -> bool {
        self.life().is_some_and(|life| life.process.lives())
    }
}
