//! `tandem broker` as a process, ended when dropped; if it is not dropped, its standard input
//! closes.

#![allow(unreachable_pub, reason = "the including file decides its visibility")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A broker that listens on a port of its own.
pub struct BrokerProcess {
    pub child: Child,
    pub address: String,
}

impl BrokerProcess {
    /// Starts one; it has said where it listens.
    pub fn start() -> Self {
        let mut child = Command::new(crate::program())
            .args(["broker", "--listen", "127.0.0.1:0", "--until-eof"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        Self { child, address: said["listening"].as_str().unwrap().to_owned() }
    }
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
