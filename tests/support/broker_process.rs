//! `tandem broker` as a process, ended when dropped; if it is not dropped, its standard input
//! closes.

#![allow(unreachable_pub, reason = "the including file decides its visibility")]

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};

use tokio::net::TcpSocket;

/// A broker that listens on a port of its own.
pub struct BrokerProcess {
    pub child: Child,
    pub address: String,
    /// Has its port, but never listens: while the broker is dead, the kernel would give the port to
    /// another test, which would answer in its place, and keep the next broker from it.
    _reserved: TcpSocket,
}

impl BrokerProcess {
    /// Starts one; it has said where it listens.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with these options as well.
    pub fn start_with(options: &[&str]) -> Self {
        let reserved = TcpSocket::new_v4().unwrap();
        reserved.set_reuseaddr(true).unwrap();
        reserved.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let listen = reserved.local_addr().unwrap().to_string();
        let mut child = Command::new(crate::program())
            .args(["broker", "--listen", &listen, "--until-eof"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = said["listening"].as_str().unwrap().to_owned();
        Self { child, address, _reserved: reserved }
    }
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
