//! Where a sidecar listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The prefix of a path.
const UNIX: &str = "unix:";

/// An address, or the path of a Unix socket, as in `unix:/run/tandem/a.sock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServeAt {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for ServeAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(UNIX) {
            return if path.is_empty() {
                Err("a path is missing, as in unix:/run/tandem/a.sock".to_owned())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            "an address is written 127.0.0.1:7070, a Unix socket unix:/run/tandem/a.sock".to_owned()
        })
    }
}

/// As `TANDEM_SIDECAR` has it.
impl fmt::Display for ServeAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_or_a_path() {
        let parsed = |text: &str| text.parse::<ServeAt>().map(|at| at.to_string());
        assert_eq!(parsed("127.0.0.1:1").as_deref(), Ok("http://127.0.0.1:1"));
        assert_eq!(parsed("unix:/a b").as_deref(), Ok("unix:/a b"));
        assert!(parsed("unix:").is_err() && parsed("localhost").is_err());
    }
}
