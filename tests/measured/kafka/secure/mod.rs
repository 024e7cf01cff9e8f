//! Clusters that require authentication: whole runs on two of them, each right taken away in turn,
//! tokens. Needs the feature `tls`, Java 17, Maven and openssl.

mod rights;
mod secrets;
mod tokens;
