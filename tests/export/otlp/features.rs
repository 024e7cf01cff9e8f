//! What must not come in with a dependency.

use std::fs;

/// The sections of `Cargo.lock` that begin with this name.
fn locked(name: &str) -> bool {
    let lock = fs::read_to_string("Cargo.lock").unwrap();
    lock.lines().any(|line| line == format!("name = {name:?}"))
}

/// The SDK's exporters with reqwest's asynchronous client lose every batch: their threads have no
/// reactor. Ours send with the blocking one, on threads of their own.
#[test]
fn no_exporter_sends_with_the_asynchronous_client() {
    let manifest = fs::read_to_string("Cargo.toml").unwrap();
    let otlp = manifest.lines().find(|line| line.starts_with("opentelemetry-otlp"));
    assert!(!otlp.is_some_and(|line| line.contains("\"reqwest-client\"")), "{otlp:?}");
    assert!(otlp.is_some() || !locked("opentelemetry-otlp"), "no other feature enables it");
    for entry in fs::read_dir("src/telemetry").unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let found = text.contains("reqwest::Client") || text.contains("reqwest::ClientBuilder");
        assert!(!found, "{} names the asynchronous client", path.display());
    }
}

/// One provider of cryptography: with two, TLS refuses to choose, at run time.
#[test]
fn there_is_one_provider_of_cryptography() {
    assert!(locked("ring") && !locked("aws-lc-rs"));
}
