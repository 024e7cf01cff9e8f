//! The examples of `examples/broker`: tests in other languages that start the broker as a process.

use std::path::Path;

use support::foreign::confluent;
use support::foreign::java::jars;
use support::foreign::{command, said};

const EXAMPLES: &str = "examples/broker";

fn file(name: &str) -> std::path::PathBuf {
    Path::new(support::ROOT).join(EXAMPLES).join(name)
}

#[test]
fn a_test_in_python_starts_the_broker() {
    let mut python = command(confluent::python());
    python.arg(file("test_orders.py")).env("TANDEM", support::program());
    // What unittest says goes to standard error; a failure is a failure of the process.
    said(&mut python, "");
}

#[test]
fn a_test_in_java_starts_the_broker() {
    let classes = tempfile::tempdir().unwrap();
    let mut compile = command("javac");
    compile.arg("-cp").arg(jars()).arg("-d").arg(classes.path());
    said(compile.arg(file("OrdersTest.java")), "");
    let mut path = jars().into_os_string();
    path.push(":");
    path.push(classes.path());
    let mut java = command("java");
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp"]).arg(path);
    java.arg("OrdersTest").env("TANDEM", support::program());
    let said = said(&mut java, "");
    assert!(said.contains("each order was billed once"), "{said}");
}
