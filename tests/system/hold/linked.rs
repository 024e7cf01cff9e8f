//! `tandem hold --mesh`: members that are programs stand in for each other.

use std::fs;

use rustix::process::Signal;
use support::experiment::eventually;
use support::held::{SOON, Stage};
use support::web::get;

/// No session ends here: each is longer than any wait.
const LINKED: &str = "on_death: stand-in, session: 10m, heartbeat: 100ms";

fn leads(port: u16) -> bool {
    get(port, "/v1/roles/r").is_ok_and(|(status, _)| status == 200)
}

/// Whether the kernel has a connection to this port of this address of the loopback.
fn is_linked([third, fourth]: [u8; 2], port: u16) -> bool {
    let address = u32::from_ne_bytes([127, 99, third, fourth]);
    let (end, table) = (format!("{address:08X}:{port:04X}"), fs::read_to_string("/proc/net/tcp"));
    table.unwrap().lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next() == Some(&end) && fields.nth(1) == Some("01")
    })
}

#[test]
fn a_linked_program_leads_in_the_place_of_a_dead_one_whose_session_goes_on() {
    let stage = Stage::new(LINKED);
    let [.., third, fourth] = std::process::id().to_be_bytes();
    let place = [third, fourth.max(1)];
    let mesh = |port: u16| format!("127.99.{}.{}:{port}", place[0], place[1]);
    let (first, a) = stage.serve("a", &["--mesh", &mesh(7_400)]);
    eventually("the lead of a", SOON, || leads(a).then_some(()));
    let (second, b) = stage.serve("b", &["--mesh", &mesh(7_401)]);
    eventually("the link", SOON, || is_linked(place, 7_401).then_some(()));
    // With two members and one partition it may stay or move.
    let owner = stage.settled(2);
    let (victim, own, other) = if owner == "a" { (&first, a, b) } else { (&second, b, a) };
    // From then on nothing but its death makes the other one lead.
    eventually("one leader", SOON, || (leads(own) && !leads(other)).then_some(()));
    assert_eq!(stage.settled(2), owner, "a group that has settled");
    victim.signal(Signal::KILL);
    eventually("the stand-in", SOON, || leads(other).then_some(()));
}

#[test]
fn a_link_that_does_not_fit_is_refused() {
    let refused = |settings: &str, more: &[&str]| {
        let stage = Stage::new(settings);
        let more = [&["--serve", "127.0.0.1:0"], more].concat();
        let output = stage.command("a", &more, &[]).status().unwrap();
        assert_eq!(output.code(), Some(2));
        stage.said("a.err")
    };
    let said = refused("session: 10s", &["--mesh", "127.0.0.1"]);
    assert!(said.contains("do not stand in for each other"), "{said}");
    let said = refused(LINKED, &["--mesh", "192.0.2.1:7400"]);
    assert!(said.contains("192.0.2.1 is beyond this machine"), "{said}");
    let said = refused(LINKED, &["--mesh", "here:7400"]);
    assert!(said.contains("is not an IP address"), "{said}");
    let suspecting = format!("{LINKED}, suspect: 50ms");
    let said = refused(&suspecting, &["--mesh", "127.0.0.1"]);
    assert!(said.contains("no program ends in that time"), "{said}");
}
