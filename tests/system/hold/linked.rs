//! `tandem hold --mesh`: members that are programs stand in for each other.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use support::described::members;
use support::experiment::eventually;
use support::held::{SOON, Stage};
use support::web::get;
use tandem::time::Mono;

const LINKED: &str = "on_death: stand-in, session: 10s, heartbeat: 100ms";

/// A group in which nothing changes for so long has settled: a rebalance takes less than a second.
const STILL: Duration = Duration::from_secs(3);

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
fn a_linked_program_leads_in_the_place_of_a_dead_one_long_before_the_session_ends() {
    let stage = Stage::new(LINKED);
    let [.., third, fourth] = std::process::id().to_be_bytes();
    let place = [third, fourth.max(1)];
    let mesh = |port: u16| format!("127.99.{}.{}:{port}", place[0], place[1]);
    let (first, a) = stage.serve("a", &["--mesh", &mesh(7_400)]);
    eventually("the lead of a", SOON, || leads(a).then_some(()));
    let (second, b) = stage.serve("b", &["--mesh", &mesh(7_401)]);
    eventually("the link", SOON, || is_linked(place, 7_401).then_some(()));
    eventually("both members", SOON, || {
        (members(&stage.broker.address, "held-p1").len() == 2).then_some(())
    });
    // With two members and one partition it may stay or move; one of them leads for good.
    let mut since: Option<(Mono, bool)> = None;
    let one = eventually("one leader", SOON, || {
        let one = (leads(a) != leads(b)).then(|| leads(a));
        since = one.map(|one| since.filter(|(_, it)| *it == one).unwrap_or((Mono::now(), one)));
        since.filter(|(from, _)| Mono::now().since(*from) > STILL).map(|(_, one)| one)
    });
    let (victim, other) = if one { (&first, b) } else { (&second, a) };
    victim.signal(Signal::KILL);
    let killed = Mono::now();
    eventually("the stand-in", SOON, || leads(other).then_some(()));
    let took = Mono::now().since(killed);
    assert!(took < Duration::from_secs(5), "{took:?} of a session of 10 s");
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
