//! Python's confluent-kafka, in an environment of its own below the target folder.

use std::path::{Path, PathBuf};

use crate::support::{Broker, command, said};

const VERSION: &str = "2.16.1";

/// Makes the environment, once.
fn python() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("confluent-kafka-{VERSION}"));
    let python = folder.join("bin/python");
    let complete = folder.join("complete");
    if !complete.exists() {
        said(command("python3").args(["-m", "venv", "--clear"]).arg(&folder), "");
        let package = format!("confluent-kafka=={VERSION}");
        let mut install = command(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        said(install.arg(package), "");
        std::fs::write(complete, "").unwrap();
    }
    python
}

#[test]
fn confluent_kafka_produces_consumes_commits_rebalances_and_describes() {
    let broker = Broker::start();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/client.py");
    let done = said(command(python()).arg(script).arg(&broker.address), "");
    assert_eq!(done, "everything worked\n");
}
