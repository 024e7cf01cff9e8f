//! Python's confluent-kafka, in an environment of its own below the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::{command, said};

pub const VERSION: &str = "2.16.1";

/// The interpreter of the environment, which is made once.
pub fn python() -> PathBuf {
    static MAKE: Mutex<()> = Mutex::new(());
    let _one_at_a_time = MAKE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = crate::scratch().join(format!("confluent-kafka-{VERSION}"));
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

/// A script of `tests/broker/clients` at this bootstrap.
pub fn script(name: &str, bootstrap: &str) -> Command {
    let script = Path::new(crate::ROOT).join("tests/broker/clients").join(name);
    let mut client = command(python());
    client.arg(script).arg(bootstrap);
    client
}
