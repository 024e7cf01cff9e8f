//! The door.

use std::process::ExitCode;

use clap::Parser;
use tandem::cli::broker::{BrokerArgs, run};

#[derive(Parser)]
enum Command {
    Broker(BrokerArgs),
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .init();
    let Command::Broker(args) = Command::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "The broker failed.");
            ExitCode::FAILURE
        }
    }
}
