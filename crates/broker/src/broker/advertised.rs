//! The address of the broker in its metadata, which clients connect to.

use std::net::SocketAddr;
use std::str::FromStr;

/// A host and a port, as in Kafka's `advertised.listeners`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertised {
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl From<SocketAddr> for Advertised {
    fn from(address: SocketAddr) -> Self {
        Self { host: address.ip().to_string(), port: address.port() }
    }
}

impl FromStr for Advertised {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text.contains("://") {
            return Err("an address has no protocol");
        }
        let (host, port) = text.rsplit_once(':').ok_or("an address is written HOST:PORT")?;
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse::<u16>().ok().filter(|port| digits && *port != 0);
        let port = port.ok_or("a port is 1 to 65535")?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bracketed.unwrap_or(host);
        if bracketed.is_some() != host.contains(':') {
            return Err("an IPv6 address, and no other, is written in brackets, as in [::1]:9092");
        }
        // Names of hosts have at most 255 bytes (RFC 1035); addresses have colons as well.
        let is_legal = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
        if host.is_empty() || host.len() > 255 || !host.chars().all(is_legal) {
            return Err("a host is a name or an address");
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, host) in
            [("kafka.test:1", "kafka.test"), ("10.0.0.1:1", "10.0.0.1"), ("[::1]:1", "::1")]
        {
            assert_eq!(text.parse(), Ok(Advertised { host: host.to_owned(), port: 1 }));
        }
        for text in
            ["", "kafka", "kafka:", "kafka:0", "kafka:65536", ":1", "::1:1", "PLAINTEXT://kafka:1"]
        {
            assert!(text.parse::<Advertised>().is_err(), "{text}");
        }
    }
}
