//! Who may change the state of a member: the bearer of the token, else the user who runs it.

use std::net::SocketAddr;
use std::path::Path;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use ring::digest::{SHA256, digest};

use super::ServeAt;
use crate::hold::HoldError;
use crate::host::Callers;
use crate::secret::{Secret, fetch};

/// The rule for requests that change something.
#[derive(Debug)]
pub enum Access {
    /// A caller that sends this token.
    Token(String),
    /// This user and root, on the loopback of this machine.
    User(Callers),
    /// The same, on a Unix socket, of which the kernel knows the users.
    Own,
}

/// A connection, from the sidecar's point of view.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ends {
    /// TCP.
    Tcp { local: SocketAddr, peer: SocketAddr },
    /// A Unix socket, and the user at its other end.
    Unix { user: u32 },
}

impl Access {
    /// The rule for a sidecar at `address`.
    ///
    /// # Errors
    /// The token cannot be read or is empty, or there is none and other machines reach the address.
    pub fn of(at: &ServeAt, token: Option<&Path>) -> Result<Self, HoldError> {
        let Some(path) = token else {
            return match at {
                ServeAt::Unix(_) => Ok(Self::Own),
                ServeAt::Tcp(address) if address.ip().is_loopback() => {
                    Ok(Self::User(Callers::of(*address, [])))
                }
                ServeAt::Tcp(address) => Err(HoldError::Open(*address)),
            };
        };
        let token = fetch(&Secret::File(path.display().to_string()))?;
        if token.is_empty() {
            return Err(HoldError::NoToken(path.to_owned()));
        }
        Ok(Self::Token(token))
    }

    /// Whether a request may change something; else the answer to it.
    pub(super) fn admits(
        &self,
        ends: Ends,
        headers: &HeaderMap,
    ) -> Result<(), (StatusCode, String)> {
        match self {
            Self::Token(token) => {
                let sent = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
                let sent = sent.and_then(|value| value.strip_prefix(b"Bearer "));
                // Of digests, so that the time it takes says nothing of the token.
                let hash = |bytes: &[u8]| digest(&SHA256, bytes);
                let is_right = |sent| hash(sent).as_ref() == hash(token.as_bytes()).as_ref();
                if sent.is_some_and(is_right) {
                    return Ok(());
                }
                let why = "it takes the header `Authorization: Bearer TOKEN`".to_owned();
                Err((StatusCode::UNAUTHORIZED, why))
            }
            Self::User(callers) => match ends {
                Ends::Tcp { local, peer } => callers
                    .admit(local, peer)
                    .map_err(|refusal| (StatusCode::FORBIDDEN, crate::error::chain(&refusal))),
                Ends::Unix { user } => owner_only(user),
            },
            Self::Own => match ends {
                Ends::Unix { user } => owner_only(user),
                Ends::Tcp { .. } => Err((StatusCode::FORBIDDEN, "not by TCP".to_owned())),
            },
        }
    }
}

/// Root, and the user of this process.
fn owner_only(user: u32) -> Result<(), (StatusCode, String)> {
    if user == 0 || user == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err((StatusCode::FORBIDDEN, format!("user {user} may not change anything here")))
}
