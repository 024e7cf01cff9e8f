//! Clusters that require authentication: `deploy/kafka/up --secure`, with exactly the rights that
//! the documentation names. Needs the feature `tls`, Java 17, Maven and openssl.

mod own_membership;
mod rights;
mod secrets;
mod support;
mod tokens;
mod unwelcome;
