//! HTTP as far as these tests need it: one request a connection, no library between.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A port that is free at this moment, and that no process gets which asks the kernel for any one:
/// those are higher.
pub fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let number = || std::process::id().wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
    let ports = std::iter::repeat_with(|| u16::try_from(10_000 + number() % 10_000).unwrap());
    let mut free = ports.take(1_000).filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a port that is free")
}

/// Status and body of what a server on this machine answers.
pub fn get(port: u16, path: &str) -> io::Result<(u16, String)> {
    ask(port, &format!("GET {path}"), "", "")
}

/// The same for any method and path; `headers` end with a line break each.
pub fn ask(port: u16, what: &str, headers: &str, body: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let head = format!("{what} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n");
    stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    status.zip(body).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// A text as it stands in an address.
pub fn quoted(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let quote = |byte: u8| {
        if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(quote).collect()
}

/// The samples of a scrape: name with labels, and value.
pub fn samples(text: &str) -> Vec<(String, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    lines.map(sample).collect()
}
