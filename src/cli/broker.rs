//! `tandem broker`: the embedded broker as a process of its own.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::broker::{Advertised, Broker, BrokerError, BrokerSettings};

/// Run a small Kafka broker in memory, for first use, tests and chaos.
///
/// The broker is not durable: topics, messages and offsets are in memory, bounded, and gone when it
/// ends. When it is ready, it prints its address as one line of JSON:
/// {"listening":"127.0.0.1:41234"}.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem broker                                  on 127.0.0.1:9092, until Ctrl-C
  tandem broker --listen 127.0.0.1:0             on a free port, which is printed
  tandem broker --listen 0.0.0.0:9092 --advertise localhost:19092
                                                 in a container, by docker run -p 19092:9092
  tandem broker --auto-create-topics 4           topics exist once a client names them")]
pub(super) struct BrokerArgs {
    /// The address to listen on; port 0 means any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9092")]
    pub listen: SocketAddr,
    /// The address in metadata, as HOST:PORT: for a broker behind a mapped port or a proxy, where
    /// clients reach another one than it listens on. Kafka's advertised.listeners.
    #[arg(long, value_name = "ADDRESS")]
    pub advertise: Option<Advertised>,
    /// Create topics that clients name and that do not exist, with so many partitions.
    #[arg(long, value_name = "PARTITIONS")]
    pub auto_create_topics: Option<NonZeroU32>,
    /// Keep the fences of exclusive groups in this file, so that they go on rising after a restart.
    #[arg(long, value_name = "FILE")]
    pub fences: Option<PathBuf>,
    /// End when standard input closes, so that the broker does not outlive its parent.
    #[arg(long)]
    pub until_eof: bool,
}

/// The command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrokerCommandError {
    /// The broker cannot run.
    #[error("the broker cannot run")]
    Broker(#[source] BrokerError),
    /// Threads, signals or standard output cannot be set up.
    #[error("the process cannot be set up")]
    System(#[source] io::Error),
}

/// Runs the broker until SIGINT, SIGTERM or, with `--until-eof`, the end of standard input.
///
/// # Errors
///
/// It cannot listen, or the process cannot be set up.
pub(super) fn run(args: &BrokerArgs) -> Result<(), BrokerCommandError> {
    // One thread serves hundreds of members, and leaves the other cores to them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(BrokerCommandError::System)?;
    runtime.block_on(serve(args))
}

async fn serve(args: &BrokerArgs) -> Result<(), BrokerCommandError> {
    let system = BrokerCommandError::System;
    let interrupt = signal(SignalKind::interrupt()).map_err(system)?;
    let terminate = signal(SignalKind::terminate()).map_err(system)?;
    let settings = BrokerSettings {
        advertise: args.advertise.clone(),
        auto_create: args.auto_create_topics,
        fences: args.fences.clone(),
        ..BrokerSettings::default()
    };
    let broker = Broker::bind(args.listen, settings).await.map_err(BrokerCommandError::Broker)?;
    let line = serde_json::json!({ "listening": broker.address().to_string() });
    let mut out = io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(system)?;
    let stop = CancellationToken::new();
    if args.until_eof {
        watch_stdin(stop.clone()).map_err(system)?;
    }
    tokio::select! {
        () = broker.serve(stop) => {}
        () = asked_to_end(interrupt, terminate) => {}
    }
    Ok(())
}

async fn asked_to_end(mut interrupt: Signal, mut terminate: Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Cancels `stop` at the end of standard input. The thread is never joined, because a read from a
/// terminal cannot be cancelled.
fn watch_stdin(stop: CancellationToken) -> io::Result<()> {
    let watch = move || {
        let mut buffer = [0; 256];
        let mut input = io::stdin().lock();
        while matches!(input.read(&mut buffer), Ok(1..)) {}
        stop.cancel();
    };
    std::thread::Builder::new().name("until-eof".to_owned()).spawn(watch).map(drop)
}
