//! The process of the edges: commands in, answers out.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;

use super::command::Answer;
use super::error::EdgeError;
use super::execute::execute;
use super::hub::Hub;
use tandem_facts::time::Mono;
use tandem_host::outlive_signals;

/// The capacity of the command queue. When it is full, the sender waits.
const COMMANDS_MAX: usize = 16;
/// The capacity of the answer queue. When it is full, answers without a command are dropped.
const ANSWERS_MAX: usize = 1_024;
/// How long to wait at the end for the last answers to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves until the input ends; then closes all connections.
///
/// # Errors
/// The system refuses threads or signal handlers.
pub fn run(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), EdgeError> {
    // Signals that end the controller must not end its edges. Only the end of the pipe does.
    outlive_signals().map_err(EdgeError::System)?;
    let (commands, received) = mpsc::channel(COMMANDS_MAX);
    let (answers, queued) = mpsc::channel(ANSWERS_MAX);
    let listen = move || listen(input, &commands);
    let speak = move || speak(queued, output);
    let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
    let _ends_with_the_process = spawn("commands").spawn(listen).map_err(EdgeError::System)?;
    let speaker = spawn("answers").spawn(speak).map_err(EdgeError::System)?;
    // One thread carries the traffic of hundreds of members and leaves the other processors to
    // them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(EdgeError::System)?;
    runtime.block_on(serve(received, answers));
    drop(runtime);
    // The writer ends once no task can send any more, unless the output is not read.
    let began = Mono::now();
    while !speaker.is_finished() && Mono::now().since(began) < LAST_WORDS {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

async fn serve(mut commands: mpsc::Receiver<String>, answers: mpsc::Sender<Answer>) {
    let hub = Arc::new(Hub::new(answers.clone()));
    while let Some(line) = commands.recv().await {
        let answer = match serde_json::from_str(&line) {
            Ok(command) => execute(&hub, command).await,
            Err(error) => Answer::Refused { why: format!("this is not a command: {error}") },
        };
        if answers.send(answer).await.is_err() {
            break;
        }
    }
    // The tasks hold the hub, and the hub holds the tasks.
    let mut tasks = std::mem::take(&mut *hub.tasks());
    tasks.shutdown().await;
}

fn listen(input: impl BufRead, commands: &mpsc::Sender<String>) {
    for line in input.lines() {
        let Ok(line) = line else { break };
        if commands.blocking_send(line).is_err() {
            break;
        }
    }
}

fn speak(mut queued: mpsc::Receiver<Answer>, mut output: impl Write) {
    while let Some(answer) = queued.blocking_recv() {
        let line = match serde_json::to_string(&answer) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "An answer cannot be written.");
                continue;
            }
        };
        // If the output is closed, the input ends, too.
        if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
            break;
        }
    }
}
