//! Programs in Python, with packages of their own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// The validator, and a reader of YAML.
pub(crate) const VALIDATOR: [&str; 2] = ["jsonschema==4.25.1", "PyYAML==6.0.3"];

static MAKING: Mutex<()> = Mutex::new(());

/// The interpreter of an environment with these packages, made once below the target folder.
fn environment(name: &str, packages: &[&str]) -> PathBuf {
    let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (python, complete) = (folder.join("bin/python"), folder.join("complete"));
    if fs::read_to_string(&complete).ok().as_deref() != Some(&packages.join(" ")) {
        let done = |command: &mut Command| {
            assert!(command.status().unwrap().success(), "tests/all --install brings python3-venv");
        };
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        done(install.args(packages));
        fs::write(complete, packages.join(" ")).unwrap();
    }
    python
}

/// Hands a program of `tests/system/documented` these lines; what it answers, a line of JSON each.
pub(crate) fn ask(program: &str, packages: &[&str], lines: &[String]) -> Vec<Value> {
    let python = match packages {
        [] => PathBuf::from("python3"),
        packages => environment("jsonschema", packages),
    };
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system/documented").join(program);
    let mut command = Command::new(python);
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let writing = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let done = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(done.status.success(), "{program}: {}", done.status);
    let said = String::from_utf8(done.stdout).unwrap();
    let answers: Vec<Value> = said.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(answers.len(), lines.len(), "{program} answers each line");
    answers
}
