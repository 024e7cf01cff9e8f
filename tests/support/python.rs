//! Packages of Python for tests, each set in an environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

static MAKING: Mutex<()> = Mutex::new(());

/// The interpreter of an environment with these packages, made once below the target folder.
/// Without a package it has `pip` alone.
pub fn environment(name: &str, packages: &[&str]) -> PathBuf {
    let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = crate::scratch().join(name);
    let (python, complete) = (folder.join("bin/python"), folder.join("complete"));
    if fs::read_to_string(&complete).ok().as_deref() != Some(&packages.join(" ")) {
        let done = |command: &mut Command| {
            assert!(command.status().unwrap().success(), "tests/all --install brings python3-venv");
        };
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
        if !packages.is_empty() {
            done(pip(&python, "install").args(packages));
        }
        fs::write(complete, packages.join(" ")).unwrap();
    }
    python
}

/// What `pip` of this interpreter is asked for a package with: two minutes of attempts, for a
/// registry may fail for a moment.
pub fn pip(python: &Path, verb: &str) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", verb, "--quiet", "--disable-pip-version-check", "--retries", "9"]);
    pip
}
