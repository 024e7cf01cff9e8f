//! The process of the edges: orders in, answers out.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::mpsc;

use super::error::EdgeError;
use super::hub::Hub;
use super::obey::obey;
use super::order::Answer;
use tandem_facts::time::Mono;

/// Orders that wait; whoever sends more waits.
const ORDERS_MAX: usize = 16;
/// Answers that wait to be read; what is said unasked beyond that is left unsaid.
const ANSWERS_MAX: usize = 1_024;
/// What has been said is read within this, or never.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves until its input ends; then all connections are cut.
///
/// # Errors
/// Where the system does not give threads or signals.
pub fn run(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), EdgeError> {
    // What ends the controller must not end its edges: the pipe alone counts.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default()).map_err(EdgeError::System)?;
    }
    let (orders, received) = mpsc::channel(ORDERS_MAX);
    let (says, said) = mpsc::channel(ANSWERS_MAX);
    let listen = move || listen(input, &orders);
    let speak = move || speak(said, output);
    let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
    let _ends_with_the_process = spawn("orders").spawn(listen).map_err(EdgeError::System)?;
    let speaker = spawn("answers").spawn(speak).map_err(EdgeError::System)?;
    // One thread carries what hundreds of members say, and leaves the other cores to them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(EdgeError::System)?;
    runtime.block_on(serve(received, says));
    drop(runtime);
    // It ends with the last who could say something, unless nobody reads.
    let began = Mono::now();
    while !speaker.is_finished() && Mono::now().since(began) < LAST_WORDS {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

async fn serve(mut orders: mpsc::Receiver<String>, says: mpsc::Sender<Answer>) {
    let hub = Arc::new(Hub::new(says.clone()));
    while let Some(line) = orders.recv().await {
        let answer = match serde_json::from_str(&line) {
            Ok(order) => obey(&hub, order).await,
            Err(error) => Answer::Refused { why: format!("this is no order: {error}") },
        };
        if says.send(answer).await.is_err() {
            break;
        }
    }
    // The tasks hold the hub, and the hub holds the tasks.
    let mut tasks = std::mem::take(&mut *hub.tasks());
    tasks.shutdown().await;
}

fn listen(input: impl BufRead, orders: &mpsc::Sender<String>) {
    for line in input.lines() {
        let Ok(line) = line else { break };
        if orders.blocking_send(line).is_err() {
            break;
        }
    }
}

fn speak(mut said: mpsc::Receiver<Answer>, mut output: impl Write) {
    while let Some(answer) = said.blocking_recv() {
        let line = match serde_json::to_string(&answer) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "An answer cannot be written.");
                continue;
            }
        };
        // An output that nobody reads means that the input ends, too.
        if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
            break;
        }
    }
}
