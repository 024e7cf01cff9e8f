//! One connection: it answers one request at a time before it reads the next, as Kafka mutes a
//! channel while it works.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, ResponseKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::Notify;

use super::answer::{answer, refuse_api_versions};
use super::hub::Hub;
use super::state::Caller;
use crate::wire::{Incoming, WireError, encode, frame_length, parse};

/// Memory is allocated as bytes arrive, not as their length announces.
const CHUNK: usize = 64 << 10;

/// The longest time to read or write a frame that holds a reservation.
const MOVES: Duration = Duration::from_secs(60);

/// Why a connection ends. The client may connect again.
#[derive(Debug, thiserror::Error)]
enum CloseReason {
    #[error("the connection failed")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("the client was silent for too long")]
    Idle,
    #[error("no memory is left for requests and answers")]
    NoRoom,
    #[error("reading or writing took too long")]
    Slow,
    #[error("the broker shuts down")]
    Down,
}

/// Answers requests until the client closes the connection or violates the protocol.
pub(super) async fn converse(
    hub: Arc<Hub>,
    stream: TcpStream,
    peer: SocketAddr,
    connection: u64,
    idle: Duration,
) {
    let outcome = exchange(&hub, stream, peer, connection, idle).await;
    hub.with(|state| state.forget(connection));
    match outcome {
        Ok(()) => tracing::debug!(%peer, "A connection was closed by the other side."),
        Err(error @ CloseReason::NoRoom) => {
            tracing::warn!(%peer, %error, "A connection was closed.");
        }
        Err(error) => tracing::debug!(%peer, %error, "A connection was closed."),
    }
}

async fn exchange(
    hub: &Hub,
    stream: TcpStream,
    peer: SocketAddr,
    connection: u64,
    idle: Duration,
) -> Result<(), CloseReason> {
    stream.set_nodelay(true)?;
    let local = stream.local_addr()?.into();
    let place = hub.with(|state| state.settings.advertise.clone()).unwrap_or(local);
    let wake = Arc::new(Notify::new());
    let caller = Caller { connection, peer: peer.ip(), place, wake };
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let length = tokio::time::timeout(idle, length(&mut read)).await;
        let Some(length) = length.map_err(|_| CloseReason::Idle)?? else { return Ok(()) };
        let room = hub.budget.reserve(length).await.ok_or(CloseReason::NoRoom)?;
        let frame = tokio::time::timeout(MOVES.min(idle), frame(&mut read, length)).await;
        let frame = frame.map_err(|_| CloseReason::Slow)??;
        let Some(answer) = respond(hub, &caller, frame).await? else { continue };
        // The request has been dropped by now.
        drop(room);
        let _room = hub.budget.reserve(answer.size()).await.ok_or(CloseReason::NoRoom)?;
        let sent = tokio::time::timeout(MOVES, write.write_all(&answer.encode()?)).await;
        sent.map_err(|_| CloseReason::Slow)??;
    }
}

/// An answer before it is encoded.
struct Answer {
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    body: ResponseKind,
}

impl Answer {
    /// Its approximate length: that of its records. All other long parts are bounded elsewhere.
    #[expect(clippy::wildcard_enum_match_arm, reason = "records go out in one kind of answer")]
    fn size(&self) -> usize {
        match &self.body {
            ResponseKind::Fetch(fetch) => {
                let partitions = fetch.responses.iter().flat_map(|topic| &topic.partitions);
                partitions.filter_map(|one| one.records.as_ref()).map(Bytes::len).sum()
            }
            _ => 0,
        }
    }

    fn encode(&self) -> Result<Bytes, CloseReason> {
        Ok(encode(self.key, self.version, self.correlation_id, &self.body)?)
    }
}

/// The answer; none if the client wants none.
async fn respond(hub: &Hub, caller: &Caller, frame: Bytes) -> Result<Option<Answer>, CloseReason> {
    match parse(frame)? {
        Incoming::NewerApiVersions { correlation_id } => {
            let body = ResponseKind::ApiVersions(refuse_api_versions());
            Ok(Some(Answer { key: ApiKey::ApiVersions, version: 0, correlation_id, body }))
        }
        Incoming::Request(request) => {
            let (key, version) = (request.key, request.version);
            let correlation_id = request.correlation_id;
            let answer = answer(hub, caller, *request).await.ok_or(CloseReason::Down)?;
            Ok(answer.map(|body| Answer { key, version, correlation_id, body }))
        }
    }
}

/// The length of the next frame; none if the client has closed the connection.
async fn length(read: &mut BufReader<OwnedReadHalf>) -> Result<Option<usize>, CloseReason> {
    let mut prefix = [0; 4];
    match read.read_exact(&mut prefix).await {
        Ok(_) => Ok(Some(frame_length(prefix)?)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A frame of this length.
async fn frame(read: &mut BufReader<OwnedReadHalf>, length: usize) -> Result<Bytes, CloseReason> {
    let mut bytes = BytesMut::with_capacity(length.min(CHUNK));
    let mut rest = read.take(u64::try_from(length).unwrap_or(u64::MAX));
    while bytes.len() < length {
        if rest.read_buf(&mut bytes).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
    Ok(bytes.freeze())
}
