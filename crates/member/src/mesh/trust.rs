//! Whom a member takes for one of its group at the other end of a link.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use super::session::Session;
#[cfg(feature = "tls")]
use super::tls::Keys;

/// Whom a member takes for one of its group at the other end of a link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MeshTrust {
    /// Processes of the same user, or of root, on this machine: the kernel says whose they are.
    /// Only on the loopback.
    #[default]
    SameUser,
    /// Those that show a certificate of an authority, over TLS. Both ends do. Needs the feature
    /// `tls`.
    Certificates(MeshCertificates),
    /// All that reach its port, in plain text: a network of its own.
    Network,
}

/// Files in PEM, which are read once, at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshCertificates {
    /// The authority: the holder of any certificate of it is a member, whatever name it has.
    pub authority: PathBuf,
    /// This member's certificate, with those between it and the authority; for both uses, server
    /// and client.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// The same, ready for use.
pub(super) enum Guard {
    SameUser,
    Network,
    #[cfg(feature = "tls")]
    Keys(Keys),
}

impl Guard {
    /// # Errors
    /// A file cannot be read or used, or this build lacks TLS.
    pub(super) fn of(trust: &MeshTrust) -> io::Result<Self> {
        match trust {
            MeshTrust::SameUser => Ok(Self::SameUser),
            MeshTrust::Network => Ok(Self::Network),
            #[cfg(feature = "tls")]
            MeshTrust::Certificates(files) => Keys::of(files).map(Self::Keys),
            #[cfg(not(feature = "tls"))]
            MeshTrust::Certificates(_) => {
                let why = "certificates need a build with the feature `tls`";
                Err(io::Error::new(io::ErrorKind::Unsupported, why))
            }
        }
    }

    /// Whether links to this address are safe.
    pub(super) fn reaches(&self, address: IpAddr) -> bool {
        !matches!(self, Self::SameUser) || address.is_loopback()
    }

    /// Whether the kernel is asked who holds the other end, where it knows.
    pub(super) fn asks_kernel(&self) -> bool {
        matches!(self, Self::SameUser | Self::Network)
    }

    /// For a connection that this end makes.
    pub(super) fn dials(&self, to: IpAddr) -> io::Result<Session> {
        match self {
            Self::SameUser | Self::Network => {
                let _any = to;
                Ok(Session::Plain)
            }
            #[cfg(feature = "tls")]
            Self::Keys(keys) => keys.dials(to),
        }
    }

    /// For a connection that the other end made.
    pub(super) fn accepts(&self) -> io::Result<Session> {
        match self {
            Self::SameUser | Self::Network => Ok(Session::Plain),
            #[cfg(feature = "tls")]
            Self::Keys(keys) => keys.accepts(),
        }
    }
}
