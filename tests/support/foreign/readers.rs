//! Programs that read as members of a group, one for each client. `log` has what they say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::confluent;
use super::java::jars;
use super::{command, said};
use crate::python;

pub const KAFKA_PYTHON: &str = "kafka-python==3.0.12";
/// One program is installed once.
static INSTALL: Mutex<()> = Mutex::new(());

/// Whose consumer a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    FranzGo,
    KafkaJs,
    KafkaPython,
    Java,
    Librdkafka,
    /// Tandem's own membership.
    Tandem,
}

/// A file beside the programs.
pub fn source(name: &str) -> PathBuf {
    Path::new(crate::ROOT).join("tests/broker/clients/readers").join(name)
}

/// A folder in which `make` has left what is made of this text, once.
pub fn made(name: &str, of: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let _one = INSTALL.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = crate::scratch().join(name);
    let complete = folder.join("complete");
    if fs::read_to_string(&complete).ok().as_deref() != Some(of) {
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).unwrap();
        make(&folder);
        fs::write(&complete, of).unwrap();
    }
    folder
}

fn text(name: &str) -> String {
    fs::read_to_string(source(name)).unwrap()
}

impl Client {
    /// Its program, installed and built if it was not.
    pub fn program(self) -> Command {
        match self {
            Self::FranzGo => {
                let of = ["go/main.go", "go/go.mod", "go/go.sum"].map(text).concat();
                let folder = made("reader-go", &of, |folder| {
                    let mut build = command("go");
                    build.args(["build", "-mod=readonly", "-o"]).arg(folder.join("reader"));
                    said(build.arg(".").current_dir(source("go")), "");
                });
                Command::new(folder.join("reader"))
            }
            Self::KafkaJs => {
                let of = ["node/package.json", "node/package-lock.json"];
                let folder = made("reader-node", &of.map(text).concat(), |folder| {
                    for name in of {
                        let to = folder.join(Path::new(name).file_name().unwrap());
                        fs::copy(source(name), to).unwrap();
                    }
                    let mut install = command("npm");
                    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
                    said(install.current_dir(folder), "");
                });
                let mut node = command("node");
                node.arg(source("node/reader.js")).env("NODE_PATH", folder.join("node_modules"));
                node
            }
            Self::KafkaPython => {
                let mut python =
                    Command::new(python::environment("reader-python", &[KAFKA_PYTHON]));
                python.arg(source("kafka_python.py"));
                python
            }
            Self::Java => {
                let folder = made("reader-java", &text("Reader.java"), |folder| {
                    let mut compile = command("javac");
                    compile.arg("-cp").arg(jars()).arg("-d").arg(folder);
                    said(compile.arg(source("Reader.java")), "");
                });
                let mut path = jars().into_os_string();
                path.push(":");
                path.push(&folder);
                let mut log = std::ffi::OsString::from("-Dlog4j2.configurationFile=");
                log.push(source("log4j2.properties"));
                let mut java = command("java");
                java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"]);
                java.arg(log).arg("-cp").arg(path).arg("Reader");
                java
            }
            Self::Librdkafka => confluent::script("readers/librdkafka.py", "consume"),
            Self::Tandem => Command::new(crate::program()),
        }
    }
}
