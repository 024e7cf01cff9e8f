//! The programs under `examples/` that embed a crate do what they show. What they show of time, on
//! a quiet host: `tests/measured/examples.rs`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use support::alone::Alone;
use support::experiment::signal_pid;
use support::hosts::certificates;
use support::links::await_link;

/// Nothing here takes longer, however loaded the machine.
const SOON: Duration = Duration::from_secs(60);

fn example(name: &str) -> Command {
    // `cargo test` builds the examples beside the program; with `--test`, `cargo build --examples`
    // has to come first.
    let folder = PathBuf::from(env!("CARGO_BIN_EXE_tandem")).with_file_name("examples");
    Command::new(folder.join(name))
}

/// What an example prints; it ends well.
fn printed(name: &str) -> String {
    let done = example(name).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{name}: {text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

/// The lines of a program, as it prints them.
fn heard(child: &mut Child) -> Receiver<String> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, heard) = channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    heard
}

/// README's program, while it runs, and its lines.
struct Leads(Child, Receiver<String>);

impl Leads {
    fn on(broker: &Alone) -> Self {
        let mut command = example("leads");
        let mut child = command.arg(&broker.address).stdout(Stdio::piped()).spawn().unwrap();
        let lines = heard(&mut child);
        Self(child, lines)
    }

    /// The fence that it says next.
    fn fence(&self) -> i64 {
        let line = self.1.recv_timeout(SOON).unwrap();
        let fence =
            line.strip_prefix("leads, with fence Some(").and_then(|it| it.strip_suffix(')'));
        fence.unwrap_or_else(|| panic!("{line}")).parse().unwrap()
    }
}

impl Drop for Leads {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn the_program_of_readme_leads_a_role_and_another_follows() {
    let page = fs::read_to_string("README.md").unwrap();
    let program = page.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let file = fs::read_to_string("examples/leads.rs").unwrap();
    let (head, body) = file.split_once("\n\n").unwrap();
    assert!(head.lines().all(|line| line.starts_with("//!")), "{head}");
    assert_eq!(body, program, "README shows another program");
    assert!(program.lines().count() <= 50);
    let broker = Alone::start();
    let first = Leads::on(&broker);
    let fence = first.fence();
    let second = Leads::on(&broker);
    drop(first);
    assert!(second.fence() > fence, "the fence of a later leader is higher");
}

/// The program whose members stand in for each other, while it runs, and its lines.
struct Linked(Child, Receiver<String>);

impl Linked {
    fn on(broker: &Alone, name: &str, listen: SocketAddrV4, files: &[PathBuf]) -> Self {
        let mut command = example("stand_in");
        command.args([&broker.address, name, &listen.to_string()]).args(files);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = heard(&mut child);
        Self(child, lines)
    }

    /// Waits until it leads so many of four partitions.
    fn leads(&self, count: usize) {
        loop {
            let line = self.1.recv_timeout(SOON).unwrap();
            let (_, list) = line.split_once(" leads ").unwrap();
            if list.matches(char::is_numeric).count() == count {
                return;
            }
        }
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// On one machine, and with certificates as between machines.
#[test]
fn a_linked_member_leads_in_the_place_of_a_killed_one() {
    let folder = tempfile::tempdir().unwrap();
    let files = [Vec::new(), certificates(folder.path()).to_vec()];
    std::thread::scope(|scope| {
        for (port, files) in [7_400, 7_402].into_iter().zip(&files) {
            scope.spawn(move || stands_in(port, files));
        }
    });
}

/// The broker stands still when the first one dies: it gives away nothing that the dead one led.
fn stands_in(port: u16, files: &[PathBuf]) {
    let broker = Alone::start();
    let [.., third, fourth] = std::process::id().to_be_bytes();
    let at = |port| SocketAddrV4::new([127, 98, third, fourth.max(1)].into(), port);
    let places = [at(port), at(port + 1)];
    let first = Linked::on(&broker, "a", places[0], files);
    first.leads(4);
    let second = Linked::on(&broker, "b", places[1], files);
    second.leads(2);
    first.leads(2);
    await_link(&places);
    // By then b has read on the link what a leads.
    std::thread::sleep(Duration::from_secs(3)); // clock: no host leaves a process out for so long
    signal_pid(broker.pid(), Signal::STOP);
    drop(first);
    second.leads(4);
}

#[test]
fn a_client_reads_its_messages_back_from_an_embedded_broker() {
    assert!(printed("embedded_broker").starts_with("read \"buy 100\" from 127.0.0.1:"));
}

#[test]
fn the_remaining_member_leads_the_roles_of_the_other() {
    let text = printed("two_members");
    let last = text.lines().last().unwrap();
    assert_eq!(last, "the first has left, and the second leads [0, 1, 2, 3]", "{text}");
}

#[test]
fn a_client_behind_an_edge_loses_its_broker_and_has_it_back() {
    let text = printed("edge");
    let reached = text.lines().map(|line| line.rsplit(' ').next().unwrap());
    assert_eq!(reached.collect::<Vec<_>>(), ["true", "false", "true"], "{text}");
}
