//! One connection: a request at a time, answered before the next is read, as Kafka mutes the
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

/// Memory is reserved as bytes come, not as they are announced.
const CHUNK: usize = 64 << 10;

/// Why a connection ends. The other side may connect again.
#[derive(Debug, thiserror::Error)]
enum Parting {
    #[error("the connection failed")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("nothing was heard for too long")]
    Idle,
    #[error("the broker goes down")]
    Down,
}

/// Answers requests until the other side has enough, or makes no sense.
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
        Err(error) => tracing::debug!(%peer, %error, "A connection was closed."),
    }
}

async fn exchange(
    hub: &Hub,
    stream: TcpStream,
    peer: SocketAddr,
    connection: u64,
    idle: Duration,
) -> Result<(), Parting> {
    stream.set_nodelay(true)?;
    let local = stream.local_addr()?;
    let wake = Arc::new(Notify::new());
    let caller = Caller { connection, peer: peer.ip(), local, wake };
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let frame = tokio::time::timeout(idle, frame(&mut read)).await;
        let Some(frame) = frame.map_err(|_| Parting::Idle)?? else { return Ok(()) };
        let response = respond(hub, &caller, frame).await?;
        if let Some(bytes) = response {
            write.write_all(&bytes).await?;
        }
    }
}

/// The answer's bytes; none where the request wants none.
async fn respond(hub: &Hub, caller: &Caller, frame: Bytes) -> Result<Option<Bytes>, Parting> {
    match parse(frame)? {
        Incoming::NewerApiVersions { correlation_id } => {
            let body = ResponseKind::ApiVersions(refuse_api_versions());
            Ok(Some(encode(ApiKey::ApiVersions, 0, correlation_id, &body)?))
        }
        Incoming::Request(request) => {
            let (key, version, id) = (request.key, request.version, request.correlation_id);
            let answer = answer(hub, caller, *request).await.ok_or(Parting::Down)?;
            Ok(answer.map(|body| encode(key, version, id, &body)).transpose()?)
        }
    }
}

/// The next frame; none where the other side has closed in good order.
async fn frame(read: &mut BufReader<OwnedReadHalf>) -> Result<Option<Bytes>, Parting> {
    let mut prefix = [0; 4];
    match read.read_exact(&mut prefix).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let length = frame_length(prefix)?;
    let mut bytes = BytesMut::with_capacity(length.min(CHUNK));
    let mut rest = read.take(u64::try_from(length).unwrap_or(u64::MAX));
    while bytes.len() < length {
        if rest.read_buf(&mut bytes).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
    Ok(Some(bytes.freeze()))
}
