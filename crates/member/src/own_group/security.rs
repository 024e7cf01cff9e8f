//! How a member's own connections are secured: TLS, then SASL.

use std::net::TcpStream;
use std::time::Duration;

use super::sasl::Login;
use super::stream::{Failure, Stream};
use crate::kafka::{Cluster, KafkaError, Redaction, Unfit};

#[cfg(feature = "tls")]
use super::tls::Tls;

/// The least and the most time for handshakes.
const HANDSHAKES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// What every connection of a member to its cluster goes through. Secrets are read once, when the
/// member starts, as librdkafka's are; a token is read whenever it is presented.
pub(super) struct Security {
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
    pub(super) login: Option<Login>,
    /// How long handshakes may take at least. They take more round trips than the request for which
    /// they are made, and begun anew whenever that is given up they might never end. After a broken
    /// network a new connection is faster, so there is a limit.
    pub(super) handshakes: Duration,
    redaction: Redaction,
}

impl Security {
    /// Reads the client properties of a cluster.
    ///
    /// # Errors
    /// A property is not supported, a secret or a file cannot be read, or this build lacks TLS.
    pub(super) fn of(cluster: &Cluster, session: Duration) -> Result<Self, KafkaError> {
        let unfit = |Unfit { what, possible }| KafkaError::OwnMembership {
            cluster: cluster.bootstrap.clone(),
            what,
            possible,
        };
        let security = cluster.access.security().map_err(unfit)?;
        cluster.fits_build(cfg!(feature = "tls"))?;
        let [least, most] = HANDSHAKES;
        let redaction = cluster.redaction()?;
        let login = |mechanism| Login::of(cluster, mechanism, redaction.bearer());
        let is_plain = !security.tls && security.sasl.is_none();
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: security.tls.then(|| Tls::of(cluster)).transpose()?,
            login: security.sasl.map(login).transpose()?,
            handshakes: if is_plain { Duration::ZERO } else { session.clamp(least, most) },
            redaction,
        })
    }

    /// Starts TLS on a connection, where the cluster asks for it.
    #[cfg(feature = "tls")]
    pub(super) fn secure(
        &self,
        (host, port): (&str, u16),
        socket: TcpStream,
    ) -> Result<Stream, Failure> {
        match &self.tls {
            None => Ok(Stream::Plain(socket)),
            Some(tls) => tls.connect((host, port), socket).map(Stream::Tls),
        }
    }

    /// A build without TLS speaks plain text.
    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with TLS")]
    pub(super) fn secure(&self, _: (&str, u16), socket: TcpStream) -> Result<Stream, Failure> {
        Ok(Stream::Plain(socket))
    }

    /// What to make of an error on a connection that was made. With TLS 1.3 the broker checks our
    /// certificate after our side of the handshake is complete.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        #[cfg(feature = "tls")]
        if let (Some(tls), Failure::Connection(error)) = (&self.tls, &failure)
            && let Some(trouble) = tls.alert(&error.to_string())
        {
            return Failure::Refused(trouble);
        }
        failure
    }

    /// The text of a failure, without secrets and control characters.
    pub(super) fn shown(&self, failure: &Failure) -> String {
        tandem_host::shown::line(&self.redaction.redact(&failure.to_string()))
    }
}
