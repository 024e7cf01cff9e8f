//! A cluster that requires authentication: `deploy/kafka/up --secure`, with exactly the rights that
//! the documentation names. All tests share it. Needs the feature `tls`, Java 17, Maven, openssl.

mod identities;
mod refused;
mod rights;
mod secrets;
