//! Packages of Python for tests, each set in an environment of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

static MAKING: Mutex<()> = Mutex::new(());

/// The interpreter of an environment with these packages, made once below the target folder.
pub fn environment(name: &str, packages: &[&str]) -> PathBuf {
    let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = crate::scratch().join(name);
    let (python, complete) = (folder.join("bin/python"), folder.join("complete"));
    if fs::read_to_string(&complete).ok().as_deref() != Some(&packages.join(" ")) {
        let done = |command: &mut Command| {
            assert!(command.status().unwrap().success(), "tests/all --install brings python3-venv");
        };
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        // Two minutes of attempts: a registry may fail for a moment.
        install.args(["--retries", "9"]);
        done(install.args(packages));
        fs::write(complete, packages.join(" ")).unwrap();
    }
    python
}
