//! One who asks, from its line to the last line of the answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

use super::protocol::{ASK_MAX, Ask, Reply, Request, VERSION};
use crate::live_view::{Event, Picture};

/// How long one may take to say what is wanted.
const LISTENS: Duration = Duration::from_secs(5);
/// How long one may read nothing. Who does not read until then is gone, as far as can be told.
const READS: Duration = Duration::from_secs(30);

/// Events: those that are remembered, and those to come.
pub type Feed = (Vec<Arc<Event>>, Receiver<Arc<Event>>);

/// Who knows the answers. Neither call may wait.
pub trait Source: Send + Sync + 'static {
    /// How everything stands.
    fn picture(&self) -> Picture;
    /// What happened, and what will: no event is missing between the two, and none is in both.
    fn feed(&self) -> Feed;
}

/// The version alone: a later line may have any form.
#[derive(serde::Deserialize)]
struct Version {
    tandem: u32,
}

/// Says why nothing is told, if that can be said at once.
pub(super) fn turn_away(stream: &UnixStream, why: String) {
    // Who does not take even this has lost interest.
    stream.try_write(&Reply::refused(why).line()).ok();
}

/// Hears what is wanted, and answers.
pub(super) async fn attend(
    mut stream: UnixStream,
    source: Arc<dyn Source>,
    stop: CancellationToken,
) {
    let me = rustix::process::geteuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == me) {
        return turn_away(&stream, "it answers its owner alone".to_owned());
    }
    let request = match tokio::time::timeout(LISTENS, hear(&mut stream)).await {
        Ok(Ok(request)) => request,
        Ok(Err(why)) => return turn_away(&stream, why),
        Err(_) => return turn_away(&stream, format!("nothing was asked within {LISTENS:?}")),
    };
    match request.ask {
        Ask::Status => {
            let picture = Box::new(source.picture());
            let _read = say(&mut stream, Reply::Status(picture)).await;
        }
        Ask::Events => {
            let (picture, feed) = (source.picture(), source.feed());
            drop(source);
            // So that who follows knows at once that it is heard, and where all this begins.
            if say(&mut stream, Reply::Status(Box::new(picture))).await {
                tell(&mut stream, feed, request.follow, &stop).await;
            }
        }
    }
}

/// The line that asks.
async fn hear(stream: &mut UnixStream) -> Result<Request, String> {
    let mut line = Vec::new();
    let mut lines = BufReader::new(stream.take(ASK_MAX));
    let read = lines.read_until(b'\n', &mut line).await;
    if read.is_err() || !line.ends_with(b"\n") {
        return Err(format!("what is asked is one line of {ASK_MAX} bytes at most"));
    }
    let wrong = |error: serde_json::Error| format!("this asks for nothing: {error}");
    let Version { tandem } = serde_json::from_slice(&line).map_err(wrong)?;
    if tandem > VERSION {
        return Err(format!("version {tandem} is asked for, and {VERSION} is all that is known"));
    }
    serde_json::from_slice(&line).map_err(wrong)
}

/// Tells the events, one after the other.
async fn tell(stream: &mut UnixStream, feed: Feed, follow: bool, stop: &CancellationToken) {
    let (before, mut coming) = feed;
    for event in before {
        if !say(stream, Reply::Event(Event::clone(&event))).await {
            return;
        }
    }
    let last = loop {
        if !follow {
            break Reply::End { over: false };
        }
        let event = tokio::select! {
            biased;
            event = coming.recv() => event,
            // All that was told before the end was received above.
            () = stop.cancelled() => break rest(stream, &mut coming).await,
            gone = stream.readable() => {
                // Nothing more is to be asked: who hangs up is gone.
                let mut heard = [0; 64];
                match gone.and_then(|()| stream.try_read(&mut heard)) {
                    Ok(0) => return,
                    Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
                    Ok(_) | Err(_) => continue,
                }
            }
        };
        match event {
            Ok(event) => {
                if !say(stream, Reply::Event(Event::clone(&event))).await {
                    return;
                }
            }
            Err(RecvError::Lagged(missed)) => break Reply::Dropped { missed },
            Err(RecvError::Closed) => break Reply::End { over: true },
        }
    };
    say(stream, last).await;
}

/// What was told right before the end.
async fn rest(stream: &mut UnixStream, coming: &mut Receiver<Arc<Event>>) -> Reply {
    loop {
        match coming.try_recv() {
            Ok(event) => {
                if !say(stream, Reply::Event(Event::clone(&event))).await {
                    return Reply::End { over: true };
                }
            }
            Err(TryRecvError::Lagged(missed)) => return Reply::Dropped { missed },
            Err(TryRecvError::Empty | TryRecvError::Closed) => return Reply::End { over: true },
        }
    }
}

/// Writes a line; whether it was taken.
async fn say(stream: &mut UnixStream, said: Reply) -> bool {
    let line = said.line();
    matches!(tokio::time::timeout(READS, stream.write_all(&line)).await, Ok(Ok(())))
}
