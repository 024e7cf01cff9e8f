//! Programs in Python, with packages of their own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use support::python::environment;

/// The validator, and a reader of YAML.
pub(crate) const VALIDATOR: [&str; 2] = ["jsonschema==4.25.1", "PyYAML==6.0.3"];

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
