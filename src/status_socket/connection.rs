//! One connection of a client, from its request to the last reply.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

use super::protocol::{ASK_MAX, Ask, Reply, Request, VERSION};
use crate::live_view::{Event, Picture};

/// How long a client may take to send its request.
const REQUEST: Duration = Duration::from_secs(5);
/// How long a client may read nothing before it is disconnected.
const READS: Duration = Duration::from_secs(30);

/// The past events that are kept, and a receiver of new ones.
pub type Feed = (Vec<Arc<Event>>, Receiver<Arc<Event>>);

/// The source of the replies. Neither method may block.
pub trait Source: Send + Sync + 'static {
    /// The current state.
    fn picture(&self) -> Picture;
    /// Past and new events: each event is in exactly one of the two.
    fn feed(&self) -> Feed;
}

/// Only the version of a request: a later version may have any other fields.
#[derive(serde::Deserialize)]
struct Version {
    tandem: u32,
}

/// Sends a refusal, if that is possible without blocking.
fn turn_away(stream: &UnixStream, why: String) {
    // A client that cannot take it is disconnected all the same.
    stream.try_write(&Reply::refused(why).line()).ok();
}

/// Reads the request, and answers it.
pub(super) async fn attend(
    mut stream: UnixStream,
    source: Arc<dyn Source>,
    stop: CancellationToken,
) {
    let me = rustix::process::geteuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == me) {
        return turn_away(&stream, "it answers only its owner".to_owned());
    }
    let request = match tokio::time::timeout(REQUEST, read_request(&mut stream)).await {
        Ok(Ok(request)) => request,
        Ok(Err(why)) => return turn_away(&stream, why),
        Err(_) => return turn_away(&stream, format!("no request came within {REQUEST:?}")),
    };
    match request.ask {
        Ask::Status => {
            let picture = Box::new(source.picture());
            let _sent = send(&mut stream, Reply::Status(picture)).await;
        }
        Ask::Events => {
            let (picture, feed) = (source.picture(), source.feed());
            drop(source);
            // A follower gets the current state at once, as the start of its events.
            if send(&mut stream, Reply::Status(Box::new(picture))).await {
                send_events(&mut stream, feed, request.follow, &stop).await;
            }
        }
    }
}

/// Reads the line of the request.
async fn read_request(stream: &mut UnixStream) -> Result<Request, String> {
    let mut line = Vec::new();
    let mut lines = BufReader::new(stream.take(ASK_MAX));
    let read = lines.read_until(b'\n', &mut line).await;
    if read.is_err() || !line.ends_with(b"\n") {
        return Err(format!("a request is one line of at most {ASK_MAX} bytes"));
    }
    let wrong = |error: serde_json::Error| format!("this is not a request: {error}");
    let Version { tandem } = serde_json::from_slice(&line).map_err(wrong)?;
    if tandem > VERSION {
        return Err(format!(
            "the request has version {tandem}, and the latest known version is {VERSION}"
        ));
    }
    serde_json::from_slice(&line).map_err(wrong)
}

/// Sends the past events, and with `follow` all new ones.
async fn send_events(stream: &mut UnixStream, feed: Feed, follow: bool, stop: &CancellationToken) {
    let (before, mut coming) = feed;
    for event in before {
        if !send(stream, Reply::Event(Event::clone(&event))).await {
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
            // `biased`: all earlier events are received first.
            () = stop.cancelled() => break rest(stream, &mut coming).await,
            gone = stream.readable() => {
                // A client sends nothing after its request; this notices when it disconnects.
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
                if !send(stream, Reply::Event(Event::clone(&event))).await {
                    return;
                }
            }
            Err(RecvError::Lagged(missed)) => break Reply::Dropped { missed },
            Err(RecvError::Closed) => break Reply::End { over: true },
        }
    };
    send(stream, last).await;
}

/// Sends the last events before the end. Returns the final reply.
async fn rest(stream: &mut UnixStream, coming: &mut Receiver<Arc<Event>>) -> Reply {
    loop {
        match coming.try_recv() {
            Ok(event) => {
                if !send(stream, Reply::Event(Event::clone(&event))).await {
                    return Reply::End { over: true };
                }
            }
            Err(TryRecvError::Lagged(missed)) => return Reply::Dropped { missed },
            Err(TryRecvError::Empty | TryRecvError::Closed) => return Reply::End { over: true },
        }
    }
}

/// Sends a reply. Returns whether the client took it.
async fn send(stream: &mut UnixStream, reply: Reply) -> bool {
    let line = reply.line();
    matches!(tokio::time::timeout(READS, stream.write_all(&line)).await, Ok(Ok(())))
}
