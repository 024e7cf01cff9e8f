//! A price feed that is led twice: two groups, each on a broker of its own, publish the same
//! numbered prices. The subscriber removes duplicates, and misses none while leaders are killed.
//!
//! It never waits for a newer price for longer than 50 ms, of which 25 are the price's own, while
//! faults hit one group at a time and the other one has a leader that runs. If both groups lose
//! their leaders at once, it waits for a takeover: about a session, a second here.
//!
//! ```sh
//! cargo run --example price_feed
//! ```
//!
//! The same with its parts as they are deployed, one process each; the subscriber prints each line
//! that arrives, and when:
//!
//! ```sh
//! cargo run --example price_feed -- subscribe 127.0.0.1:7000
//! cargo run --example price_feed -- publish 127.0.0.1:9092 p1 p1-1 127.0.0.1:7000
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tandem_broker::broker::{Broker, BrokerSettings};
use tandem_facts::time::Mono;
use tandem_member::Member;
use tokio_util::sync::CancellationToken;

/// There is a price each 20 ms; its number follows from the clock that all processes share.
const PRICE_NS: u64 = 20_000_000;
const LOOK: Duration = Duration::from_millis(5);
/// A leader that has published within this still leads.
const FRESH: Duration = Duration::from_millis(200);
/// Between two kills, both groups publish for this long.
const STEADY: Duration = Duration::from_secs(1);
/// It is waited for a state no longer than this.
const PATIENCE: Duration = Duration::from_secs(30);
const GROUPS: [&str; 2] = ["p1", "p2"];
const MEMBERS: usize = 3;
const KILLS: usize = 4;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A member that publishes prices while it leads: `NUMBER NAME`, a line each.
fn publish(bootstrap: &str, group: &str, name: &str, subscriber: &str) -> Outcome<()> {
    let builder = Member::builder(bootstrap, group).name(name).roles(["eurusd"]);
    let member = builder.create_ledger(NonZeroU32::MIN).join()?;
    let lead = member.lead(member.role("eurusd").ok_or("no such role")?);
    let mut stream = TcpStream::connect(subscriber)?;
    // Each price leaves at once, as one segment.
    stream.set_nodelay(true)?;
    let mut last = None;
    loop {
        let number = Mono::now().0 / PRICE_NS;
        if lead.holds() {
            // One that did not run for a while makes up for it.
            for number in last.map_or(number, |last: u64| last + 1)..=number {
                stream.write_all(format!("{number} {name}\n").as_bytes())?;
            }
            last = Some(number);
        } else {
            last = None;
        }
        thread::sleep(LOOK);
    }
}

/// A line, and the instant at which it arrived.
type Arrived = (Mono, String);

/// What has arrived.
#[derive(Default)]
struct Subscriber {
    newest: Option<(u64, Mono)>,
    /// Prices that are older than the newest, and have not arrived.
    missed: BTreeSet<u64>,
    prices: usize,
    duplicates: usize,
    /// The longest time without a newer price.
    hole: Duration,
    /// Who published last in each group, and when.
    leaders: BTreeMap<String, (String, Mono)>,
}

impl Subscriber {
    /// Whether the price is new: by now, another one with this number is the other group's.
    fn take(&mut self, (at, line): &Arrived) -> Option<bool> {
        let (number, name) = line.split_once(' ')?;
        let (group, _) = name.split_once('-')?;
        let number = number.parse().ok()?;
        let is_new = match self.newest {
            Some((newest, _)) if number <= newest => self.missed.remove(&number),
            Some((newest, since)) => {
                self.missed.extend(newest + 1..number);
                self.hole = self.hole.max(at.since(since));
                true
            }
            None => true,
        };
        if self.newest.is_none_or(|(newest, _)| newest < number) {
            self.newest = Some((number, *at));
        }
        self.prices += usize::from(is_new);
        self.duplicates += usize::from(!is_new);
        self.leaders.insert(group.to_owned(), (name.to_owned(), *at));
        Some(is_new)
    }

    /// The leader of a group, unless it has fallen silent.
    fn leader(&self, group: &str) -> Option<String> {
        let (name, at) = self.leaders.get(group)?;
        (Mono::now().since(*at) < FRESH).then(|| name.clone())
    }

    /// Takes what arrives meanwhile.
    fn take_for(&mut self, lines: &Receiver<Arrived>, time: Duration) {
        let began = Mono::now();
        while Mono::now().since(began) < time {
            if let Ok(line) = lines.recv_timeout(LOOK) {
                self.take(&line);
            }
        }
    }

    /// Takes what arrives until nothing is missing that one group has published: the other one may
    /// be behind with it. What is missed for good never arrives.
    fn until_complete(&mut self, lines: &Receiver<Arrived>) {
        let began = Mono::now();
        while !self.missed.is_empty() && Mono::now().since(began) < PATIENCE {
            self.take_for(lines, LOOK);
        }
    }

    /// Takes what arrives until every group has a leader that `fits`.
    fn until_led(&mut self, lines: &Receiver<Arrived>, fits: impl Fn(&str) -> bool) -> Outcome<()> {
        let began = Mono::now();
        while !GROUPS.iter().all(|group| self.leader(group).is_some_and(|name| fits(&name))) {
            self.take_for(lines, LOOK);
            if Mono::now().since(began) > PATIENCE {
                return Err(format!("not every group has a leader within {PATIENCE:?}").into());
            }
        }
        Ok(())
    }
}

/// Passes the lines of all members on.
fn listen(listener: &TcpListener, lines: &SyncSender<Arrived>) {
    for stream in listener.incoming().flatten() {
        let lines = lines.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                lines.send((Mono::now(), line)).ok();
            }
        });
    }
}

/// The subscriber alone: `new` or `again`, the instant of the arrival, and the line.
fn subscribe(address: &str) -> Outcome<()> {
    let listener = TcpListener::bind(address)?;
    let mut out = io::stdout().lock();
    writeln!(out, "listens on {}", listener.local_addr()?)?;
    let (lines, received) = sync_channel(1024);
    thread::spawn(move || listen(&listener, &lines));
    let mut subscriber = Subscriber::default();
    for arrived in received {
        if let Some(is_new) = subscriber.take(&arrived) {
            let (Mono(at), line) = &arrived;
            writeln!(out, "{} {at} {line}", if is_new { "new" } else { "again" })?;
        }
    }
    Ok(())
}

/// The members, which end with this value.
struct Members(BTreeMap<String, Child>);

impl Members {
    fn start(&mut self, bootstrap: &str, group: &str, name: &str, at: &str) -> Outcome<()> {
        let mut member = Command::new(env::current_exe()?);
        member.args(["publish", bootstrap, group, name, at]).stdin(Stdio::null());
        self.0.insert(name.to_owned(), member.spawn()?);
        Ok(())
    }

    fn kill(&mut self, name: &str) -> Outcome<()> {
        let mut member = self.0.remove(name).ok_or("it is killed already")?;
        member.kill()?;
        member.wait()?;
        Ok(())
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for member in self.0.values_mut() {
            member.kill().ok();
            member.wait().ok();
        }
    }
}

fn main() -> Outcome<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => demonstrate(),
        ["subscribe", address] => subscribe(address),
        ["publish", bootstrap, group, name, subscriber] => {
            publish(bootstrap, group, name, subscriber)
        }
        _ => Err("usage: price_feed [subscribe ADDRESS | publish BOOTSTRAP GROUP NAME AT]".into()),
    }
}

/// All of it in one go, while leaders are killed.
fn demonstrate() -> Outcome<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let stop = CancellationToken::new();
    let (lines, received) = sync_channel(1024);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let at = listener.local_addr()?.to_string();
    thread::spawn(move || listen(&listener, &lines));
    let mut members = Members(BTreeMap::new());
    for group in GROUPS {
        let settings = BrokerSettings::default();
        let broker = runtime.block_on(Broker::bind("127.0.0.1:0".parse()?, settings))?;
        let bootstrap = broker.address().to_string();
        runtime.spawn(broker.serve(stop.clone()));
        for number in 1..=MEMBERS {
            members.start(&bootstrap, group, &format!("{group}-{number}"), &at)?;
        }
    }
    let mut subscriber = Subscriber::default();
    subscriber.until_led(&received, |_| true)?;
    for round in 0..KILLS {
        subscriber.take_for(&received, STEADY);
        let group = GROUPS[round % GROUPS.len()];
        // One that did not run for a moment is waited for.
        subscriber.until_led(&received, |_| true)?;
        let (leader, _) = subscriber.leaders.get(group).ok_or("no leader")?.clone();
        members.kill(&leader)?;
        println!("killed {leader}, which led in {group}");
        // No group loses its leader before the other one has one again.
        subscriber.until_led(&received, |name| name != leader)?;
    }
    subscriber.until_complete(&received);
    let Subscriber { prices, duplicates, hole, .. } = subscriber;
    let missed = subscriber.missed.len();
    println!("without a newer price for {:.0} ms at the longest", hole.as_secs_f64() * 1e3);
    println!("{prices} prices, {duplicates} duplicates removed, {missed} missed");
    stop.cancel();
    if missed > 0 { Err("a price was missed".into()) } else { Ok(()) }
}
