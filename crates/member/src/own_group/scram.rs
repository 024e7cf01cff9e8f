//! SCRAM, by rsasl. Kafka does not normalize passwords, and neither does rsasl.

use std::sync::{Arc, Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkcs5::pbkdf2_hmac;
use rsasl::callback::{Context, Request, SessionCallback, SessionData};
use rsasl::mechanisms::scram::properties::{Iterations, Salt, SaltedPassword};
use rsasl::prelude::{Mechname, MessageSent, SASLClient, SASLConfig, Session, SessionError, State};
use rsasl::property::AuthId;

use crate::kafka::Mechanism;

/// A broker that asks for fewer rounds than RFC 7677 allows would learn the password more easily,
/// and one that asks for many more would keep the member busy.
const ITERATIONS: std::ops::RangeInclusive<u32> = 4096..=1 << 20;

/// A user and its password, and what the broker's salt makes of that.
pub(super) struct Credentials {
    mechanism: Mechanism,
    username: String,
    password: String,
    salted: Mutex<Option<Salted>>,
}

struct Salted {
    salt: Vec<u8>,
    iterations: u32,
    password: Vec<u8>,
}

impl Credentials {
    pub(super) fn new(mechanism: Mechanism, username: String, password: String) -> Self {
        Self { mechanism, username, password, salted: Mutex::new(None) }
    }

    /// The salted password, which takes milliseconds to compute: only for the first connection.
    fn salted(&self, salt: &[u8], iterations: u32) -> Result<Vec<u8>, ErrorStack> {
        let mut known = self.salted.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = known.as_ref().filter(|it| it.salt == salt && it.iterations == iterations);
        if let Some(fits) = fits {
            return Ok(fits.password.clone());
        }
        let digest = match self.mechanism {
            Mechanism::ScramSha256 => MessageDigest::sha256(),
            Mechanism::ScramSha512 | Mechanism::Plain | Mechanism::OauthBearer => {
                MessageDigest::sha512()
            }
        };
        let mut password = vec![0; digest.size()];
        let count = usize::try_from(iterations).unwrap_or(usize::MAX);
        pbkdf2_hmac(self.password.as_bytes(), salt, count, digest, &mut password)?;
        let salt = salt.to_vec();
        *known = Some(Salted { salt, iterations, password: password.clone() });
        Ok(password)
    }
}

/// Answers what rsasl asks for.
struct Answers(Arc<Credentials>);

impl SessionCallback for Answers {
    fn callback(
        &self,
        _: &SessionData,
        context: &Context<'_>,
        request: &mut Request<'_>,
    ) -> Result<(), SessionError> {
        if request.is::<SaltedPassword>()
            && let (Some(salt), Some(iterations)) =
                (context.get_ref::<Salt>(), context.get_ref::<Iterations>())
        {
            let salted = self.0.salted(salt, *iterations);
            let salted = salted.map_err(|error| SessionError::Boxed(Box::new(error)))?;
            request.satisfy::<SaltedPassword>(&salted)?;
        }
        request.satisfy::<AuthId>(&self.0.username)?;
        Ok(())
    }
}

/// One exchange.
pub(super) struct Scram {
    session: Session,
    is_done: bool,
}

impl Scram {
    pub(super) fn begin(credentials: &Arc<Credentials>) -> Result<Self, String> {
        let answers = Answers(Arc::clone(credentials));
        let config = SASLConfig::builder().with_default_mechanisms().with_callback(answers);
        let name = credentials.mechanism.as_str().as_bytes();
        let name = Mechname::parse(name).map_err(text)?;
        let client = SASLClient::new(config.map_err(text)?);
        let session = client.start_suggested(&[name]).map_err(text)?;
        Ok(Self { session, is_done: false })
    }

    /// What to send next; none where the broker has proved that it knows the password, too.
    pub(super) fn step(&mut self, challenge: Option<&[u8]>) -> Result<Option<Vec<u8>>, String> {
        if self.is_done {
            return Ok(None);
        }
        if let Some(count) = challenge.and_then(iterations)
            && !ITERATIONS.contains(&count)
        {
            return Err(format!("the broker asks for {count} iterations"));
        }
        let mut token = Vec::new();
        match self.session.step(challenge, &mut token).map_err(text)? {
            State::Running => Ok(Some(token)),
            State::Finished(MessageSent::No) => {
                self.is_done = true;
                Ok(None)
            }
            State::Finished(MessageSent::Yes) => {
                self.is_done = true;
                Ok(Some(token))
            }
        }
    }
}

/// The number of iterations in the broker's first message (RFC 5802, section 5.1).
fn iterations(message: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(message).ok()?;
    text.split(',').find_map(|part| part.strip_prefix("i="))?.parse().ok()
}

fn text(error: impl std::error::Error + 'static) -> String {
    tandem_host::error::chain(&error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::base64::{decode_block, encode_block};
    use openssl::memcmp;
    use openssl::pkey::PKey;
    use openssl::sha::sha512;
    use openssl::sign::Signer;

    fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
        let key = PKey::hmac(key).unwrap();
        let mut signer = Signer::new(MessageDigest::sha512(), &key).unwrap();
        signer.sign_oneshot_to_vec(text).unwrap()
    }

    /// A broker's side of RFC 5802, written from it with OpenSSL.
    struct Twin {
        salted: Vec<u8>,
        first: String,
    }

    impl Twin {
        fn answer(password: &str, first: &[u8], iterations: u32) -> (Self, String) {
            let bare = std::str::from_utf8(first).unwrap().strip_prefix("n,,").unwrap();
            let nonce = bare.split_once(",r=").unwrap().1;
            let mut salted = vec![0; 64];
            let (salt, count) = (b"salt", usize::try_from(iterations).unwrap());
            let digest = MessageDigest::sha512();
            pbkdf2_hmac(password.as_bytes(), salt, count, digest, &mut salted).unwrap();
            let challenge = format!("r={nonce}theirs,s={},i={iterations}", encode_block(salt));
            (Self { salted, first: format!("{bare},{challenge}") }, challenge)
        }

        /// The signature for a good proof.
        fn accept(&self, last: &[u8]) -> Option<String> {
            let (bare, proof) = std::str::from_utf8(last).unwrap().rsplit_once(",p=").unwrap();
            assert!(bare.starts_with("c=biws,r="), "no channel is bound: {bare}");
            let signed = format!("{},{bare}", self.first);
            let client = hmac(&self.salted, b"Client Key");
            let signature = hmac(&sha512(&client), signed.as_bytes());
            let expected: Vec<u8> = client.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
            let fine = memcmp::eq(&decode_block(proof).unwrap(), &expected);
            let server = hmac(&hmac(&self.salted, b"Server Key"), signed.as_bytes());
            fine.then(|| format!("v={}", encode_block(&server)))
        }
    }

    fn begin() -> (Scram, Vec<u8>) {
        let (name, password) = ("a,b=c".to_owned(), "pencil".to_owned());
        let credentials = Credentials::new(Mechanism::ScramSha512, name, password);
        let mut scram = Scram::begin(&Arc::new(credentials)).unwrap();
        let first = scram.step(None).unwrap().unwrap();
        assert!(first.starts_with(b"n,,n=a=2Cb=3Dc,r="), "{}", String::from_utf8_lossy(&first));
        (scram, first)
    }

    #[test]
    fn both_sides_prove_that_they_know_the_password() {
        let (mut scram, first) = begin();
        let (twin, challenge) = Twin::answer("pencil", &first, 4096);
        let last = scram.step(Some(challenge.as_bytes())).unwrap().unwrap();
        let proof = twin.accept(&last).unwrap();
        assert_eq!(scram.step(Some(proof.as_bytes())).unwrap(), None);
        assert_eq!(scram.step(Some(b"")).unwrap(), None, "it stays done");
    }

    #[test]
    fn another_password_convinces_neither_side() {
        let (mut scram, first) = begin();
        let (twin, challenge) = Twin::answer("pen", &first, 4096);
        let last = scram.step(Some(challenge.as_bytes())).unwrap().unwrap();
        assert_eq!(twin.accept(&last), None);
        let proof = format!("v={}", encode_block(&[7; 64]));
        let why = scram.step(Some(proof.as_bytes())).unwrap_err();
        assert!(!why.contains("pencil"), "{why}");
    }

    #[test]
    fn too_few_and_too_many_iterations_are_refused() {
        for count in [1, 4095, (1 << 20) + 1] {
            let (mut scram, first) = begin();
            let (_, challenge) = Twin::answer("pencil", &first, 1);
            let challenge = challenge.replace("i=1", &format!("i={count}"));
            let why = scram.step(Some(challenge.as_bytes())).unwrap_err();
            assert_eq!(why, format!("the broker asks for {count} iterations"));
        }
    }
}
