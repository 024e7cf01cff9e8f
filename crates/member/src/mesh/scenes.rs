//! The mesh over real sockets: against others of its kind, and against members that a test plays.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::frame::{Greeting, frame};
use super::mail::News;
use super::{Mesh, MeshSettings, MeshTrust};
use crate::Claims;
use crate::kafka::Bell;
use tandem_facts::ids::{Life, PartitionId};
use tandem_facts::time::Mono;
use tandem_neli::Statement;
use tandem_neli::mesh::{Inquest, Order, Process, Word};

/// Longer than anything here takes on a busy machine.
pub(super) const BOUND: Duration = Duration::from_secs(60);

fn life(text: &str) -> Life {
    Life::try_from(text.to_owned()).unwrap()
}

fn process(of: &str) -> Process {
    Process { life: life(of), number: 7 }
}

pub(super) fn statement(of: &str, holds: &[u32], address: Option<String>) -> Statement {
    Statement {
        group: "g".parse().unwrap(),
        life: life(of),
        process: 7,
        generation: 5,
        holds: holds.iter().copied().map(PartitionId).collect(),
        leads: holds.iter().copied().map(PartitionId).collect(),
        going: false,
        address,
        inquest: Inquest::default(),
    }
}

fn settings(ip: Ipv4Addr, advertise: Option<&str>, trust: MeshTrust) -> MeshSettings {
    // None ends by itself while a test looks at it.
    let (listen, stand_in) = (SocketAddr::from((ip, 0)), 10 * BOUND);
    let advertise = advertise.map(|address| address.parse().unwrap());
    MeshSettings { listen, advertise, trust, stand_in, suspect: None }
}

/// A member's mesh, and what its loop has heard.
pub(super) struct Member {
    pub(super) mesh: Mesh,
    bell: Arc<Bell>,
    pub(super) heard: News,
}

impl Member {
    fn start(of: &str, holds: &[u32]) -> Self {
        Self::trusting(MeshTrust::SameUser, of, holds)
    }

    pub(super) fn trusting(trust: MeshTrust, of: &str, holds: &[u32]) -> Self {
        let bell = Arc::new(Bell::default());
        let claims = Arc::new(Claims::new(std::num::NonZeroU32::MIN));
        let settings = settings(Ipv4Addr::LOCALHOST, None, trust);
        let me = ("t".parse().unwrap(), "g".parse().unwrap(), process(of));
        let mut mesh = Mesh::start(&settings, me, Arc::clone(&bell), claims).unwrap();
        mesh.own(Some(statement(of, holds, Some(mesh.address()))));
        Self { mesh, bell, heard: News::default() }
    }

    /// Collects news until this holds.
    pub(super) fn await_that(&mut self, what: &str, holds: impl Fn(&News) -> bool) {
        let end = Mono::now() + BOUND;
        loop {
            let news = self.mesh.news();
            self.heard.stated.extend(news.stated);
            self.heard.orders.extend(news.orders);
            self.heard.inquest = news.inquest.or(self.heard.inquest.take());
            if holds(&self.heard) {
                return;
            }
            assert!(Mono::now() < end, "{what}");
            self.bell.wait(Duration::from_millis(100));
        }
    }

    pub(super) fn await_statement(&mut self, of: &str) {
        let of = life(of);
        self.await_that("a statement on a link", |it| it.stated.iter().any(|it| it.life == of));
    }

    /// For whom it stands in, by partition.
    pub(super) fn stands_in(&self) -> Vec<(u32, String)> {
        let stands = |order: &Order| match order {
            Order::Stand(it) => Some((it.partition.0, it.of.to_string())),
            Order::End { .. } => None,
        };
        self.heard.orders.values().filter_map(stands).collect()
    }
}

/// A member that the test plays, linked: it dials again where the other end has not waited for its
/// greeting, as members do.
fn linked(address: &str, greeting: &Greeting, holds: &[u32]) -> TcpStream {
    let end = Mono::now() + BOUND;
    loop {
        let mut stream = played(address, greeting, holds);
        // Its greeting; once linked it states what it holds.
        if heard(&mut stream).is_ok() && heard(&mut stream).is_ok() {
            return stream;
        }
        assert!(Mono::now() < end, "no link for {greeting:?}");
    }
}

/// Says the last word of a member that the test plays, and goes once that was read.
fn last_word(mut stream: TcpStream, word: &Word) {
    stream.write_all(&frame(&word.encode())).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    // What is left unread would take the word along.
    stream.read_to_end(&mut Vec::new()).ok();
}

/// Reads a frame.
fn heard(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut bytes = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A member that the test plays: it dials, greets, and states what it holds, unless it is refused
/// before.
pub(super) fn played(address: &str, greeting: &Greeting, holds: &[u32]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let word = Word::Statement(statement(&greeting.from.life.to_string(), holds, None));
    let said = [frame(&greeting.encode()), frame(&word.encode())].concat();
    stream.write_all(&said).ok();
    stream
}

pub(super) fn greeting(from: &str, to: &str) -> Greeting {
    let (topic, group) = ("t".parse().unwrap(), "g".parse().unwrap());
    Greeting { topic, group, from: process(from), to: Some(process(to)) }
}

#[test]
fn a_link_that_ends_without_a_goodbye_makes_a_stand_in_and_one_with_it_none() {
    let mut member = Member::start("p1-3.1", &[0]);
    let address = member.mesh.address();
    let leaver = linked(&address, &greeting("p1-1.1", "p1-3.1"), &[1]);
    let victim = linked(&address, &greeting("p1-2.1", "p1-3.1"), &[2]);
    member.await_statement("p1-1.1");
    member.await_statement("p1-2.1");
    last_word(leaver, &Word::Goodbye);
    drop(victim);
    member.await_that("a stand-in", |it| !it.orders.is_empty());
    assert_eq!(member.stands_in(), [(2, "p1-2.1".to_owned())]);
}

#[test]
fn members_link_by_what_the_ledger_states_and_a_goodbye_is_no_death() {
    let mut all = ["p1-1.1", "p1-2.1", "p1-3.1"].map(|of| Member::start(of, &[]));
    let stated: Vec<Statement> = ["p1-1.1", "p1-2.1", "p1-3.1"]
        .iter()
        .zip(&all)
        .map(|(of, member)| statement(of, &[], Some(member.mesh.address())))
        .collect();
    for member in &mut all {
        stated.iter().for_each(|statement| member.mesh.ledger(statement.clone()));
    }
    for (at, member) in all.iter_mut().enumerate() {
        for (of, other) in stated.iter().enumerate() {
            if of != at {
                member.await_statement(&other.life.to_string());
            }
        }
    }
    let [first, mut second, mut third] = all;
    // On its links it says more: what it holds by now.
    let mut first = first;
    first.mesh.own(Some(statement("p1-1.1", &[1, 2, 3], Some(first.mesh.address()))));
    for other in [&mut second, &mut third] {
        other.await_that("the new share", |it| it.stated.iter().any(|it| it.holds.len() == 3));
    }
    first.mesh.leave();
    let victim = linked(&third.mesh.address(), &greeting("p1-0.1", "p1-3.1"), &[4, 5, 6, 7]);
    third.await_statement("p1-0.1");
    drop(victim);
    let mut taken = Vec::new();
    let end = Mono::now() + BOUND;
    while taken.len() < 4 && Mono::now() < end {
        third.await_that("a turn", |_| true);
        second.await_that("a turn", |_| true);
        taken = [third.stands_in(), second.stands_in()].concat();
        taken.sort();
        third.bell.wait(Duration::from_millis(1));
    }
    let wanted = [4, 5, 6, 7].map(|k| (k, "p1-0.1".to_owned()));
    assert_eq!(taken, wanted, "each orphan has one, and the leaver left none");
}

#[test]
fn strangers_are_refused() {
    let member = Member::start("p1-3.1", &[0]);
    let address = member.mesh.address();
    let other_group = Greeting { group: "h".parse().unwrap(), ..greeting("p1-1.1", "p1-3.1") };
    let other_ledger = Greeting { topic: "u".parse().unwrap(), ..greeting("p1-1.1", "p1-3.1") };
    let other_life = greeting("p1-1.1", "p1-3.2");
    for wrong in [other_group, other_ledger, other_life] {
        let mut stream = played(&address, &wrong, &[1]);
        let mut read = Vec::new();
        // Its own greeting comes first, then the end; a reset is an end, too.
        stream.read_to_end(&mut read).ok();
        assert!(read.len() < 100, "{wrong:?} is answered");
    }
}

#[test]
fn addresses_beyond_the_loopback_need_more_than_the_same_user() {
    let start = |ip, advertise, trust| {
        let me = ("t".parse().unwrap(), "g".parse().unwrap(), process("p1-1.1"));
        let claims = Arc::new(Claims::new(std::num::NonZeroU32::MIN));
        Mesh::start(&settings(ip, advertise, trust), me, Arc::default(), claims)
    };
    let (any, here) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::LOCALHOST);
    assert!(start(any, None, MeshTrust::SameUser).is_err());
    assert!(start(here, Some("192.0.2.1:7400"), MeshTrust::SameUser).is_err());
    assert!(start(any, None, MeshTrust::Network).is_err(), "no address that others could dial");
    let member = start(here, Some("192.0.2.1:7400"), MeshTrust::Network).unwrap();
    assert_eq!(member.address(), "192.0.2.1:7400", "what the others are told");
}

#[test]
fn strangers_that_say_nothing_or_too_much_keep_no_member_out() {
    let mut member = Member::start("p1-3.1", &[0]);
    let address = member.mesh.address();
    // More than it keeps, and they stay.
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let mut loud = TcpStream::connect(&address).unwrap();
    loud.set_read_timeout(Some(BOUND)).unwrap();
    loud.write_all(&frame(&[b'x'; 4_096])).ok();
    let began = Mono::now();
    loud.read_to_end(&mut Vec::new()).ok();
    assert!(Mono::now().since(began) < BOUND, "one that says too much is refused");
    let _link = linked(&address, &greeting("p1-1.1", "p1-3.1"), &[1]);
    member.await_statement("p1-1.1");
    drop(silent);
}

#[test]
fn a_link_that_is_hung_up_makes_no_stand_in() {
    let mut member = Member::start("p1-3.1", &[0]);
    let address = member.mesh.address();
    let other = linked(&address, &greeting("p1-1.1", "p1-3.1"), &[1]);
    let victim = linked(&address, &greeting("p1-2.1", "p1-3.1"), &[2]);
    member.await_statement("p1-1.1");
    member.await_statement("p1-2.1");
    last_word(other, &Word::Hangup);
    drop(victim);
    member.await_that("a stand-in", |it| !it.orders.is_empty());
    assert_eq!(member.stands_in(), [(2, "p1-2.1".to_owned())]);
    let asks = |it: &News| it.inquest.as_ref().is_some_and(|it| it.asks.len() == 1);
    member.await_that("a question on the ledger", asks);
}
