//! A price feed that is led twice: two groups, each on a broker of its own, publish the same
//! numbered prices. The subscriber removes duplicates, and misses none while leaders are killed.
//!
//! ```sh
//! cargo run --example price_feed
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
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
    let mut last = None;
    loop {
        let number = Mono::now().0 / PRICE_NS;
        if lead.holds() {
            // One that did not run for a while makes up for it.
            for number in last.map_or(number, |last: u64| last + 1)..=number {
                writeln!(stream, "{number} {name}")?;
            }
            last = Some(number);
        } else {
            last = None;
        }
        thread::sleep(LOOK);
    }
}

/// What has arrived.
#[derive(Default)]
struct Subscriber {
    prices: BTreeSet<u64>,
    duplicates: usize,
    /// Who published last in each group, and when.
    leaders: BTreeMap<String, (String, Mono)>,
}

impl Subscriber {
    fn take(&mut self, line: &str) -> Option<()> {
        let (number, name) = line.split_once(' ')?;
        let (group, _) = name.split_once('-')?;
        // A price that is known by now is the other group's.
        self.duplicates += usize::from(!self.prices.insert(number.parse().ok()?));
        self.leaders.insert(group.to_owned(), (name.to_owned(), Mono::now()));
        Some(())
    }

    /// The leader of a group, unless it has fallen silent.
    fn leader(&self, group: &str) -> Option<String> {
        let (name, at) = self.leaders.get(group)?;
        (Mono::now().since(*at) < FRESH).then(|| name.clone())
    }

    /// Takes what arrives meanwhile.
    fn take_for(&mut self, lines: &Receiver<String>, time: Duration) {
        let began = Mono::now();
        while Mono::now().since(began) < time {
            if let Ok(line) = lines.recv_timeout(LOOK) {
                self.take(&line);
            }
        }
    }

    /// Takes what arrives until every group has a leader that `fits`.
    fn until_led(&mut self, lines: &Receiver<String>, fits: impl Fn(&str) -> bool) -> Outcome<()> {
        let began = Mono::now();
        while !GROUPS.iter().all(|group| self.leader(group).is_some_and(|name| fits(&name))) {
            self.take_for(lines, LOOK);
            if Mono::now().since(began) > PATIENCE {
                return Err(format!("not every group has a leader within {PATIENCE:?}").into());
            }
        }
        Ok(())
    }

    /// The numbers that never arrived, between the first and the last that did.
    fn holes(&self) -> usize {
        let all = self.prices.first().zip(self.prices.last());
        let expected = all.map_or(0, |(first, last)| last - first + 1);
        usize::try_from(expected).unwrap_or(usize::MAX) - self.prices.len()
    }
}

/// Passes the lines of all members on.
fn listen(listener: &TcpListener, lines: &SyncSender<String>) {
    for stream in listener.incoming().flatten() {
        let lines = lines.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                lines.send(line).ok();
            }
        });
    }
}

/// The members, which end with this value.
struct Members(BTreeMap<String, Child>);

impl Members {
    fn start(&mut self, bootstrap: &str, group: &str, name: &str, at: &str) -> Outcome<()> {
        let mut member = Command::new(env::current_exe()?);
        member.args([bootstrap, group, name, at]).stdin(Stdio::null());
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
    if let [bootstrap, group, name, subscriber] = &args[..] {
        return publish(bootstrap, group, name, subscriber);
    }
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
        let leader = subscriber.leader(group).ok_or("the leader fell silent")?;
        members.kill(&leader)?;
        println!("killed {leader}, which led in {group}");
        // No group loses its leader before the other one has one again.
        subscriber.until_led(&received, |name| name != leader)?;
    }
    let (prices, duplicates) = (subscriber.prices.len(), subscriber.duplicates);
    let holes = subscriber.holes();
    println!("{prices} prices, {duplicates} duplicates removed, {holes} missed");
    stop.cancel();
    if holes > 0 { Err("a price was missed".into()) } else { Ok(()) }
}
