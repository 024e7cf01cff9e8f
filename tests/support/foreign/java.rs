//! The jars of Apache Kafka, with Java's client.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::command;

/// The version that `deploy/kafka/up` starts by default.
pub const VERSION: &str = "4.3.0";

/// The jars that `deploy/kafka/up` runs Kafka with, fetched if it never ran.
pub fn jars() -> PathBuf {
    static FETCH: Mutex<()> = Mutex::new(());
    let _one_at_a_time = FETCH.lock().unwrap_or_else(PoisonError::into_inner);
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = home("XDG_CACHE_HOME").unwrap_or_else(|| home("HOME").unwrap().join(".cache"));
    let cache = cache.join("tandem/kafka").join(VERSION);
    if !cache.join("lib").exists() {
        std::fs::create_dir_all(&cache).unwrap();
        let part = tempfile::tempdir_in(&cache).unwrap();
        let pom = Path::new(crate::ROOT).join("deploy/kafka").join(VERSION);
        let mut copy = command("mvn");
        copy.args(["-q", "-B", "-f"]).arg(pom.join("pom.xml"));
        copy.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
        let into = format!("-DoutputDirectory={}", part.path().join("lib").display());
        assert!(copy.arg(into).status().unwrap().success(), "Maven could not fetch the jars");
        // Another process may have been faster, with the same jars.
        drop(std::fs::rename(part.path().join("lib"), cache.join("lib")));
    }
    cache.join("lib/*")
}
