//! The protocol of NATS, as far as members need it: lines of text, and the bytes of a message after
//! its line.

use std::io;

use serde_json::json;
use tokio_util::bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

/// The longest line: a server describes itself in one.
const LINE_MAX: usize = 1 << 16;
/// The longest message.
const MESSAGE_MAX: usize = 1_024;

/// What a server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// What it is: its first word, and again when that changes.
    Info,
    Message(Bytes),
    Ping,
    Pong,
    /// It refuses something, for this reason.
    Refused(String),
}

/// What a client says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    /// Who it is, in the server's log, and whether it wants TLS.
    Connect {
        name: String,
        tls: bool,
    },
    /// It wants the messages of this subject.
    Subscribe(String),
    Publish(String, Bytes),
    Ping,
    Pong,
}

/// Both ways of one connection.
#[derive(Debug, Default)]
pub(super) struct Codec {
    /// The length of the message whose line was read.
    waits_for: Option<usize>,
}

fn odd(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Decoder for Codec {
    type Item = Said;
    type Error = io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Said>> {
        loop {
            if let Some(length) = self.waits_for {
                if bytes.len() < length + 2 {
                    return Ok(None);
                }
                self.waits_for = None;
                let message = bytes.split_to(length).freeze();
                bytes.advance(2);
                return Ok(Some(Said::Message(message)));
            }
            let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
                return if bytes.len() > LINE_MAX {
                    Err(odd("a line without end"))
                } else {
                    Ok(None)
                };
            };
            let line = bytes.split_to(end);
            bytes.advance(2);
            let line = String::from_utf8_lossy(&line);
            let (word, rest) = line.split_once([' ', '\t']).unwrap_or((&*line, ""));
            match word.to_ascii_uppercase().as_str() {
                "INFO" => return Ok(Some(Said::Info)),
                "PING" => return Ok(Some(Said::Ping)),
                "PONG" => return Ok(Some(Said::Pong)),
                "+OK" => {}
                "-ERR" => return Ok(Some(Said::Refused(rest.trim().to_owned()))),
                // The subject, the number of the subscription, perhaps where to answer; the length.
                "MSG" => {
                    let length = rest.split_whitespace().next_back().and_then(|it| it.parse().ok());
                    let length = length.filter(|length| *length <= MESSAGE_MAX);
                    self.waits_for = Some(length.ok_or_else(|| odd("a message of no length"))?);
                }
                _ => return Err(odd("a word of no NATS")),
            }
        }
    }
}

impl Encoder<Says> for Codec {
    type Error = io::Error;

    fn encode(&mut self, says: Says, bytes: &mut BytesMut) -> io::Result<()> {
        match says {
            Says::Connect { name, tls } => {
                let who = json!({"verbose": false, "pedantic": false, "tls_required": tls,
                    "name": name, "lang": "rust", "version": env!("CARGO_PKG_VERSION"),
                    "protocol": 0, "echo": false});
                bytes.put_slice(format!("CONNECT {who}\r\n").as_bytes());
            }
            Says::Subscribe(subject) => {
                bytes.put_slice(format!("SUB {subject} 1\r\n").as_bytes());
            }
            Says::Publish(subject, message) => {
                bytes.put_slice(format!("PUB {subject} {}\r\n", message.len()).as_bytes());
                bytes.put_slice(&message);
                bytes.put_slice(b"\r\n");
            }
            Says::Ping => bytes.put_slice(b"PING\r\n"),
            Says::Pong => bytes.put_slice(b"PONG\r\n"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As nats-server 2.9.10 says it, in parts of any length.
    #[test]
    fn what_a_server_says_is_read_however_it_is_cut() {
        let said = b"INFO {\"server_id\":\"N\",\"version\":\"2.9.10\"}\r\nPONG\r\n+OK\r\n\
            MSG tandem.t.p2.p2-1 1 4\r\na\r\nb\r\nPING\r\nMSG s 1 answer 0\r\n\r\n\
            -ERR 'Unknown Protocol Operation'\r\n";
        let wanted = [
            Said::Info,
            Said::Pong,
            Said::Message(Bytes::from_static(b"a\r\nb")),
            Said::Ping,
            Said::Message(Bytes::new()),
            Said::Refused("'Unknown Protocol Operation'".to_owned()),
        ];
        for part in 1..said.len() {
            let (mut codec, mut bytes, mut read) = (Codec::default(), BytesMut::new(), Vec::new());
            for part in said.chunks(part) {
                bytes.extend_from_slice(part);
                while let Some(one) = codec.decode(&mut bytes).unwrap() {
                    read.push(one);
                }
            }
            assert_eq!(read, wanted, "in parts of {part}");
        }
    }

    #[test]
    fn what_is_no_nats_is_refused() {
        for odd in ["HTTP/1.1 400 Bad Request\r\n", "MSG s 1 x\r\n", "MSG s 1 9999999\r\n"] {
            let said = Codec::default().decode(&mut BytesMut::from(odd));
            assert_eq!(said.unwrap_err().kind(), io::ErrorKind::InvalidData, "{odd}");
        }
        let mut endless = BytesMut::from(&b"INFO "[..]);
        endless.resize(LINE_MAX + 1, b'x');
        assert!(Codec::default().decode(&mut endless).is_err());
    }

    #[test]
    fn what_a_client_says_are_lines() {
        let said = |says| {
            let mut bytes = BytesMut::new();
            Codec::default().encode(says, &mut bytes).unwrap();
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        assert_eq!(said(Says::Subscribe("a.b".to_owned())), "SUB a.b 1\r\n");
        let message = Bytes::from_static(b"hello");
        assert_eq!(said(Says::Publish("a.b".to_owned(), message)), "PUB a.b 5\r\nhello\r\n");
        assert_eq!(said(Says::Ping) + &said(Says::Pong), "PING\r\nPONG\r\n");
        let connect = said(Says::Connect { name: "p2-1.1".to_owned(), tls: true });
        assert!(connect.starts_with("CONNECT {") && connect.ends_with("}\r\n"), "{connect}");
        assert!(connect.contains("\"tls_required\":true"), "{connect}");
    }
}
