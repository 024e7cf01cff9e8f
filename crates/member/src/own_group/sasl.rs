//! Authentication with SASL: SaslHandshake, then SaslAuthenticate until the mechanism is done.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::{
    ApiKey, RequestKind, ResponseKind, SaslAuthenticateRequest, SaslAuthenticateResponse,
    SaslHandshakeRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::stream::{Failure, Stream};
use super::wire::{Speaker, Versions};
use crate::kafka::{Bearer, Cluster, KafkaError, Mechanism};
use tandem_host::error::chain;

#[cfg(feature = "tls")]
use super::scram::{Credentials, Scram};

/// More rounds than any mechanism takes.
const ROUNDS_MAX: usize = 8;

/// Whose error the client has understood: the broker then says why it refuses (RFC 7628, 3.2.3).
const UNDERSTOOD: u8 = 1;

/// The user of a member. It holds a password, so it has no `Debug`.
pub(super) struct Login {
    mechanism: Mechanism,
    /// What PLAIN says. Brokers compare the bytes as they are, so they are not normalized here.
    plain: Vec<u8>,
    #[cfg(feature = "tls")]
    scram: std::sync::Arc<Credentials>,
    /// Where the token is that OAUTHBEARER presents.
    bearer: Option<Bearer>,
    cluster: Cluster,
}

/// One authentication under way.
enum Exchange {
    Plain,
    #[cfg(feature = "tls")]
    Scram(Scram),
    Bearer {
        token: String,
        /// What the broker has against it.
        refusal: Option<String>,
    },
}

impl Login {
    /// Reads the user and its password.
    ///
    /// # Errors
    /// A secret cannot be read.
    pub(super) fn of(
        cluster: &Cluster,
        mechanism: Mechanism,
        bearer: Option<&Bearer>,
    ) -> Result<Self, KafkaError> {
        let value = |key| cluster.value(key).map(Option::unwrap_or_default);
        let (username, password) = (value("sasl.username")?, value("sasl.password")?);
        Ok(Self {
            mechanism,
            plain: format!("\0{username}\0{password}").into_bytes(),
            #[cfg(feature = "tls")]
            scram: Credentials::new(mechanism, username, password).into(),
            bearer: bearer.cloned(),
            cluster: cluster.clone(),
        })
    }

    /// Authenticates on a new connection, or again on one whose session ends soon. Returns how long
    /// the session lasts, where it does not last for ever (KIP-368).
    pub(super) fn authenticate(
        &self,
        stream: &mut Stream,
        speaker: &Speaker,
        versions: &Versions,
    ) -> Result<Option<Duration>, Failure> {
        let mechanism = StrBytes::from_static_str(self.mechanism.as_str());
        let body = SaslHandshakeRequest::default().with_mechanism(mechanism);
        let question = (ApiKey::SaslHandshake, RequestKind::SaslHandshake(body));
        let answer = self.ask(question, stream, speaker, versions)?;
        let Some(ResponseKind::SaslHandshake(answer)) = answer else {
            return Err(Failure::nonsense());
        };
        if answer.error_code != 0 {
            let offered: Vec<&str> = answer.mechanisms.iter().map(StrBytes::as_str).collect();
            let offered = format!("broker's supported mechanisms: {}", offered.join(","));
            return Err(self.refused(&offered));
        }
        let mut exchange = self.begin()?;
        let mut challenge: Option<Bytes> = None;
        let mut lifetime_ms = 0;
        for _ in 0..ROUNDS_MAX {
            let Some(token) = self.step(&mut exchange, challenge.as_deref())? else {
                let lasts = u64::try_from(lifetime_ms).ok().filter(|ms| *ms > 0);
                return Ok(lasts.map(Duration::from_millis));
            };
            let answer = self.present(token, stream, speaker, versions)?;
            lifetime_ms = answer.session_lifetime_ms;
            challenge = Some(answer.auth_bytes);
        }
        Err(Failure::nonsense())
    }

    /// Sends what the mechanism says, and returns what the broker says to it.
    fn present(
        &self,
        token: Vec<u8>,
        stream: &mut Stream,
        speaker: &Speaker,
        versions: &Versions,
    ) -> Result<SaslAuthenticateResponse, Failure> {
        let body = SaslAuthenticateRequest::default().with_auth_bytes(token.into());
        let question = (ApiKey::SaslAuthenticate, RequestKind::SaslAuthenticate(body));
        let answer = self.ask(question, stream, speaker, versions)?;
        let Some(ResponseKind::SaslAuthenticate(answer)) = answer else {
            return Err(Failure::nonsense());
        };
        if answer.error_code == 0 {
            return Ok(answer);
        }
        let code = format!("error {}", answer.error_code);
        Err(self.refused(answer.error_message.as_deref().unwrap_or(&code)))
    }

    /// Asks the broker; none if its answer cannot be read.
    fn ask(
        &self,
        (key, body): (ApiKey, RequestKind),
        stream: &mut Stream,
        speaker: &Speaker,
        versions: &Versions,
    ) -> Result<Option<ResponseKind>, Failure> {
        let question = speaker.other(key, &body, versions);
        let question = question.ok_or_else(|| self.refused("the broker offers no SASL"))?;
        let answer = stream.exchange(&question)?;
        Ok(question.answered(answer))
    }

    fn begin(&self) -> Result<Exchange, Failure> {
        match self.mechanism {
            Mechanism::Plain => Ok(Exchange::Plain),
            #[cfg(feature = "tls")]
            Mechanism::ScramSha256 | Mechanism::ScramSha512 => {
                let scram = Scram::begin(&self.scram);
                scram.map(Exchange::Scram).map_err(|why| self.refused(&why))
            }
            #[cfg(not(feature = "tls"))]
            Mechanism::ScramSha256 | Mechanism::ScramSha512 => {
                Err(self.refused("this build has no SCRAM"))
            }
            Mechanism::OauthBearer => {
                let bearer = self.bearer.as_ref().ok_or_else(|| self.refused("it has no place"))?;
                let token = bearer.read().map_err(|why| self.refused(&chain(&why)))?;
                Ok(Exchange::Bearer { token, refusal: None })
            }
        }
    }

    /// What to send next; none where the broker has proved all that it has to.
    fn step(
        &self,
        exchange: &mut Exchange,
        challenge: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        match exchange {
            Exchange::Plain if challenge.is_none() => Ok(Some(self.plain.clone())),
            Exchange::Plain => Ok(None),
            #[cfg(feature = "tls")]
            Exchange::Scram(scram) => scram.step(challenge).map_err(|why| self.refused(&why)),
            Exchange::Bearer { token, refusal } => match (challenge, &refusal) {
                (None, _) => Ok(Some(format!("n,,\u{1}auth=Bearer {token}\u{1}\u{1}").into())),
                (Some([]), None) => Ok(None),
                (Some(why), None) => {
                    *refusal = Some(String::from_utf8_lossy(why).into_owned());
                    Ok(Some(vec![UNDERSTOOD]))
                }
                // A broker that goes on has refused it all the same.
                (Some(_), Some(refusal)) => Err(self.refused(refusal)),
            },
        }
    }

    fn refused(&self, reason: &str) -> Failure {
        let bearer = self.bearer.as_ref();
        let reason = bearer.map_or_else(|| reason.to_owned(), |it| it.explained(reason));
        Failure::Refused(self.cluster.turned_away(reason))
    }
}
