//! A client without a library: a connection that sends one request and hears what is answered.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::Sender;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader, RequestKind, ResponseHeader, ResponseKind};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use tandem::wire::number;

/// Nothing at all is waited for longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request in the version in which it is said.
pub struct Ask {
    pub key: ApiKey,
    pub version: i16,
    pub body: RequestKind,
}

pub struct Connection(TcpStream);

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, client: &str, ask: &Ask) -> ResponseKind {
        self.send(client, ask);
        receive(&mut self.0, ask.key, ask.version).unwrap()
    }

    /// Asks; the answer goes to `hear` with the number, whenever it comes.
    pub fn post(&mut self, client: &str, ask: &Ask, id: u64, hear: Sender<Heard>) {
        self.send(client, ask);
        let mut stream = self.0.try_clone().unwrap();
        stream.set_read_timeout(None).unwrap();
        let (key, version) = (ask.key, ask.version);
        std::thread::spawn(move || {
            if let Some(body) = receive(&mut stream, key, version) {
                drop(hear.send((id, body)));
            }
        });
    }

    fn send(&mut self, client: &str, ask: &Ask) {
        let mut frame = BytesMut::from(&[0; 4][..]);
        RequestHeader::default()
            .with_request_api_key(number(ask.key))
            .with_request_api_version(ask.version)
            .with_correlation_id(7)
            .with_client_id(Some(StrBytes::from_string(client.to_owned())))
            .encode(&mut frame, ask.key.request_header_version(ask.version))
            .unwrap();
        ask.body.encode(&mut frame, ask.version).unwrap();
        let length = u32::try_from(frame.len() - 4).unwrap().to_be_bytes();
        frame[..4].copy_from_slice(&length);
        self.0.write_all(&frame).unwrap();
    }
}

/// The number of a request, and its answer.
pub type Heard = (u64, ResponseKind);

impl Drop for Connection {
    /// Ends the thread that still listens.
    fn drop(&mut self) {
        drop(self.0.shutdown(Shutdown::Both));
    }
}

/// None where the other side has closed.
fn receive(stream: &mut TcpStream, key: ApiKey, version: i16) -> Option<ResponseKind> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut frame = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut frame).ok()?;
    let mut frame = Bytes::from(frame);
    ResponseHeader::decode(&mut frame, key.response_header_version(version)).unwrap();
    let body = ResponseKind::decode(key, &mut frame, version).unwrap();
    assert!(frame.is_empty(), "{key:?} {version}: {} bytes too many", frame.len());
    Some(body)
}
