//! Another client of ZooKeeper, which takes the lock of a partition.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::python::environment;
use super::zookeeper::ZooKeeper;

const SOON: Duration = Duration::from_secs(60);

/// Another client of ZooKeeper, which takes a lock on partition 0, and its lines.
pub struct Contender {
    process: Child,
    says: Receiver<String>,
}

impl Contender {
    pub fn start(zookeeper: &ZooKeeper) -> Self {
        let python = environment("kazoo", &["kazoo==2.10.0"]);
        let mut process = Command::new(python)
            .arg(format!("{}/tests/support/kazoo_contender.py", super::ROOT))
            .args([&zookeeper.addresses, "/tandem/mixed-zookeeper/p2/0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (sender, says) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { process, says }
    }

    /// Waits for its next line, which must be this one.
    pub fn says(&self, wanted: &str) {
        let line = self.says.recv_timeout(SOON);
        assert_eq!(line.as_deref(), Ok(wanted));
    }

    /// Has it give the lock back, and end.
    pub fn release(&mut self) {
        self.process.stdin.take().unwrap().write_all(b"release\n").unwrap();
    }

    /// Waits for its end, which is a good one.
    pub fn ends(&mut self) {
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
