//! OAUTHBEARER (RFC 7628): a token is read again whenever it is presented, because its issuer
//! replaces it before it expires.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rdkafka::client::OAuthToken;

use super::{Access, Mechanism};
use tandem_facts::time::Wall;
use tandem_host::secret::{Secret, SecretError, fetch};

/// The secret that holds the token. librdkafka has no such property.
pub(crate) const TOKEN: &str = "sasl.oauthbearer.token";
/// How long librdkafka believes in a token: it asks for the next one after 80 % of that. Whether a
/// token is still good, the broker decides.
const BELIEVED: Duration = Duration::from_secs(10);
/// How many of the latest tokens are kept out of logs.
const HIDDEN_MAX: usize = 3;

/// Where the token of a client is. Clones share what they have read.
#[derive(Clone)]
pub(crate) struct Bearer {
    place: Secret,
    /// The latest tokens; the last one was presented last.
    read: Arc<Mutex<VecDeque<String>>>,
}

/// Why there is no token to present.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoToken {
    /// It is not where the topology says.
    #[error(transparent)]
    Unread(#[from] SecretError),
    /// RFC 6750, `b64token`: anything else would end the message early, or be refused.
    #[error("{0} holds no token: a token has letters, digits and -._~+/= only, and no spaces")]
    Malformed(String),
}

impl Bearer {
    /// The token of a client with this access; none if it authenticates by other means.
    pub(crate) fn of(access: &Access) -> Option<Self> {
        let place = access.secrets.get(TOKEN).filter(|_| access.is_bearer())?;
        Some(Self { place: place.clone(), read: Arc::default() })
    }

    /// Where the token is, for messages.
    pub(crate) fn place(&self) -> String {
        place(&self.place)
    }

    /// Reads the token.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn read(&self) -> Result<String, NoToken> {
        let token = fetch(&self.place)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.back() != Some(&token) {
            if read.len() == HIDDEN_MAX {
                read.pop_front();
            }
            read.push_back(token.clone());
        }
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if token.bytes().all(is_legal) { Ok(token) } else { Err(NoToken::Malformed(self.place())) }
    }

    /// The token, as librdkafka takes it.
    pub(super) fn for_library(&self) -> Result<OAuthToken, Box<dyn Error>> {
        let until = Wall::now().0.saturating_add(millis(BELIEVED));
        // librdkafka uses the name for nothing but its own log.
        let principal_name = "tandem".to_owned();
        Ok(OAuthToken { token: self.read()?, principal_name, lifetime_ms: until })
    }

    /// `reason`, and what the token that was presented last says of itself.
    pub(crate) fn explained(&self, reason: &str) -> String {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let expires = read.back().and_then(|token| expires_ms(token));
        let Some(ago) = expires.map(|until| Wall::now().0.saturating_sub(until)) else {
            return reason.to_owned();
        };
        if ago < 0 {
            return reason.to_owned();
        }
        format!("{reason}; by this machine's clock the token expired {} s ago", ago / 1_000)
    }

    /// `text` without the latest tokens.
    pub(super) fn hide(&self, text: &str) -> String {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.iter().fold(text.to_owned(), |text, token| text.replace(token, "***"))
    }
}

impl Access {
    /// Whether the connections present a token.
    #[must_use]
    pub fn is_bearer(&self) -> bool {
        let named = ["sasl.mechanisms", "sasl.mechanism"];
        let named = named.into_iter().find_map(|key| self.properties.get(key));
        let bearer = named.is_some_and(|name| name == Mechanism::OauthBearer.as_str());
        let protocol = self.properties.get("security.protocol");
        bearer && protocol.is_some_and(|it| it.to_ascii_lowercase().starts_with("sasl"))
    }

    /// Where their token is, for messages.
    pub(super) fn place_of_token(&self) -> Option<String> {
        self.secrets.get(TOKEN).filter(|_| self.is_bearer()).map(place)
    }
}

fn place(secret: &Secret) -> String {
    match secret {
        Secret::Env(name) => format!("variable {name}"),
        Secret::File(path) => format!("file {path}"),
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// When a token expires, if it is a JSON Web Token that says so (RFC 7519, `exp`): milliseconds
/// since 1970. Its signature is not checked: the broker does that.
fn expires_ms(token: &str) -> Option<i64> {
    #[derive(serde::Deserialize)]
    struct Claims {
        exp: f64,
    }
    let payload = token.split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let Claims { exp } = serde_json::from_slice(&payload).ok()?;
    let seconds = Duration::try_from_secs_f64(exp).ok()?;
    Some(millis(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"alg":"none"}`, a payload, and no signature.
    fn token(payload: &str) -> String {
        format!("eyJhbGciOiJub25lIn0.{}.", URL_SAFE_NO_PAD.encode(payload))
    }

    fn access(place: Secret) -> Access {
        let set = |(key, it): (&str, &str)| (key.to_owned(), it.to_owned());
        let properties =
            [("security.protocol", "SASL_SSL"), ("sasl.mechanism", "OAUTHBEARER")].map(set);
        let secrets = [(TOKEN.to_owned(), place)].into();
        Access { properties: properties.into(), secrets }
    }

    #[test]
    fn a_token_is_read_again_each_time_and_hidden_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let bearer = Bearer::of(&access(Secret::File(file.display().to_string()))).unwrap();
        let why = bearer.read().unwrap_err().to_string();
        assert!(why.contains("cannot read the file"), "{why}");
        for (written, read) in [("first\n", "first"), ("second", "second")] {
            std::fs::write(&file, written).unwrap();
            assert_eq!(bearer.read().unwrap(), read);
        }
        assert_eq!(bearer.clone().hide("first, second, third"), "***, ***, third");
        for malformed in ["a b", "a\u{1}b", "a\nb", "ä"] {
            std::fs::write(&file, malformed).unwrap();
            let why = bearer.read().unwrap_err().to_string();
            assert!(why.contains("holds no token") && !why.contains(malformed), "{why}");
        }
        std::fs::write(&file, "x".repeat(300_000)).unwrap();
        let why = bearer.read().unwrap_err().to_string();
        assert!(why.contains("longer than"), "{why}");
    }

    #[test]
    fn a_refusal_says_since_when_the_token_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let bearer = Bearer::of(&access(Secret::File(file.display().to_string()))).unwrap();
        let now_s = Wall::now().0 / 1_000;
        for (text, said) in [
            (token(&format!("{{\"sub\":\"m\",\"exp\":{}}}", now_s - 3_600)), true),
            (token(&format!("{{\"exp\":{}.5}}", now_s - 60)), true),
            (token(&format!("{{\"exp\":{}}}", now_s + 3_600)), false),
            (token("{\"exp\":\"soon\"}"), false),
            (token("{\"exp\":-1e300}"), false),
            ("opaque".to_owned(), false),
            ("a.!.c".replace('!', "="), false),
        ] {
            std::fs::write(&file, &text).unwrap();
            assert_eq!(bearer.read().unwrap(), text);
            let why = bearer.explained("no");
            assert_eq!(why.contains("the token expired"), said, "{why}");
            assert!(why.starts_with("no") && !why.contains(&text), "{why}");
        }
    }

    #[test]
    fn only_a_client_that_authenticates_with_a_token_has_one() {
        let place = Secret::Env("TOKEN".to_owned());
        let with = |key: &str, it: &str| {
            let mut access = access(place.clone());
            access.properties.insert(key.to_owned(), it.to_owned());
            Bearer::of(&access).is_some()
        };
        assert!(with("security.protocol", "sasl_plaintext"));
        assert!(!with("security.protocol", "ssl"));
        assert!(!with("sasl.mechanism", "PLAIN"));
        // librdkafka's other name wins, as in `security`.
        assert!(!with("sasl.mechanisms", "PLAIN"));
    }
}
