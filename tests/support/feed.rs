//! The price feed of `examples/`, each part as a process of its own: what its subscriber saw while
//! leaders were killed, paused and cut off.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use tandem::edge::{Direction, Effect};
use tandem::time::Mono;

use super::alone::Alone;
use super::edge::process::{Edges, rule};
use super::experiment::{eventually, signal_pid};
use super::stalls::Watch;

/// Nothing here takes longer, however loaded the machine.
const SOON: Duration = Duration::from_secs(60);
/// What has published within this time leads.
const FRESH: Duration = Duration::from_millis(200);
/// Before each fault every group has one leader for so long, and it does not change.
const STEADY: Duration = Duration::from_millis(700);
/// There is a price each 20 ms, and publishers look for it each 5 ms.
pub const HOLE_MAX: Duration = Duration::from_millis(50);
/// A trial is disturbed if the host kept a publisher or the subscriber from running for so long: a
/// price may be 25 ms late.
pub const STALL: Duration = Duration::from_millis(15);
const GROUPS: [&str; 2] = ["p1", "p2"];
const MEMBERS: usize = 3;

/// What is done to a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blow {
    Kill,
    Pause,
    Cut,
}

impl Blow {
    pub const ALL: [Self; 3] = [Self::Kill, Self::Pause, Self::Cut];
}

/// What the subscriber has said.
#[derive(Default)]
struct Seen {
    newest: Option<u64>,
    /// The arrivals of prices that were newer than all before.
    newer: Vec<Mono>,
    missed: BTreeSet<u64>,
    duplicates: usize,
    /// When each member's last price arrived.
    last: BTreeMap<String, Mono>,
}

impl Seen {
    /// A line is `new 12345 678 p1-1`: an instant, a number, and whose it is.
    fn take(&mut self, line: &str) {
        let fields: Vec<&str> = line.split(' ').collect();
        let &[word, at, number, name] = &fields[..] else { panic!("the subscriber says {line:?}") };
        let (at, number) = (Mono(at.parse().unwrap()), number.parse().unwrap());
        let known =
            self.newest.is_some_and(|newest| number <= newest) && !self.missed.remove(&number);
        assert_eq!(word == "again", known, "duplicates are removed, and nothing else: {line:?}");
        self.duplicates += usize::from(known);
        if self.newest.is_none_or(|newest| newest < number) {
            self.missed.extend(self.newest.map_or(number, |newest| newest + 1)..number);
            self.newest = Some(number);
            self.newer.push(at);
        }
        self.last.insert(name.to_owned(), at);
    }

    /// The members that lead in a group.
    fn leaders(&self, group: &str) -> Vec<&str> {
        let now = Mono::now();
        let of = self
            .last
            .iter()
            .filter(|(name, at)| name.split('-').next() == Some(group) && now.since(**at) < FRESH);
        of.map(|(name, _)| name.as_str()).collect()
    }

    /// The longest time without a newer price that ended in this time.
    fn hole(&self, from: Mono, until: Mono) -> Duration {
        let first = self.newer.partition_point(|at| *at < from).saturating_sub(1);
        let pairs = self.newer[first..].windows(2).take_while(|pair| pair[0] <= until);
        pairs.map(|pair| pair[1].since(pair[0])).max().unwrap_or_default()
    }
}

/// One fault, from the steady state before it to the next one after it.
#[derive(Debug, Clone)]
pub struct Trial {
    pub blow: Blow,
    pub victims: Vec<String>,
    /// The longest time without a newer price.
    pub hole: Duration,
    /// How long the group of the first victim had no other leader.
    pub takeover: Duration,
    /// The longest stall of a process that was not hit.
    pub stalled: Duration,
}

impl Trial {
    pub fn is_disturbed(&self) -> bool {
        self.stalled >= STALL
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |length: Duration| length.as_secs_f64() * 1e3;
        write!(
            f,
            "{:?} of {}: no newer price for {:.1} ms, no other leader for {:.0} ms, stalled for \
             {:.1} ms",
            self.blow,
            self.victims.join(" and "),
            ms(self.hole),
            ms(self.takeover),
            ms(self.stalled)
        )
    }
}

/// Two groups of publishers, each on a broker of its own, and one subscriber.
pub struct Feed {
    brokers: [Alone; 2],
    edges: Edges,
    subscriber: Child,
    address: String,
    seen: Arc<Mutex<Seen>>,
    members: BTreeMap<String, Child>,
    started: usize,
    watch: Watch,
}

impl Feed {
    pub fn start() -> Self {
        let mut subscriber = Command::new(crate::example("price_feed"))
            .args(["subscribe", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(subscriber.stdout.take().unwrap()).lines();
        let address = lines.next().unwrap().unwrap();
        let address = address.strip_prefix("listens on ").unwrap().to_owned();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let taker = Arc::clone(&seen);
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| taker.lock().unwrap().take(&line));
        });
        let watch = Watch::begin();
        watch.add(subscriber.id());
        let (brokers, edges) = ([Alone::start(), Alone::start()], Edges::start());
        let (members, started) = (BTreeMap::new(), 0);
        let mut feed = Self { brokers, edges, subscriber, address, seen, members, started, watch };
        for group in GROUPS {
            (0..MEMBERS).for_each(|_| feed.join(group));
        }
        feed
    }

    /// Starts one more publisher of this group, under a name of its own.
    fn join(&mut self, group: &str) {
        self.started += 1;
        let name = format!("{group}-{}", self.started);
        let broker = &self.brokers[usize::from(group == GROUPS[1])].address;
        let bootstrap = self.edges.open(&name, broker);
        let mut member = Command::new(crate::example("price_feed"));
        member.args(["publish", &bootstrap, group, &name, &self.address]);
        let member = member.stdin(Stdio::null()).spawn().unwrap();
        self.watch.add(member.id());
        self.members.insert(name, member);
    }

    /// Waits until each group has had one and the same leader for a while; who that is.
    fn steady(&self) -> [String; 2] {
        let mut since = Mono::now();
        let mut before = None;
        eventually("one leader in each group", SOON, || {
            let now = {
                let seen = self.seen.lock().unwrap();
                GROUPS.map(|group| match seen.leaders(group)[..] {
                    [one] => Some(one.to_owned()),
                    _ => None,
                })
            };
            if before.as_ref() != Some(&now) || now.contains(&None) {
                (since, before) = (Mono::now(), Some(now));
                return None;
            }
            (Mono::now().since(since) >= STEADY).then(|| now.map(Option::unwrap))
        })
    }

    fn signal(&self, name: &str, signal: Signal) {
        signal_pid(self.members[name].id(), signal);
    }

    fn hit(&mut self, blow: Blow, name: &str) {
        self.watch.remove(self.members[name].id());
        match blow {
            Blow::Kill => self.signal(name, Signal::KILL),
            Blow::Pause => self.signal(name, Signal::STOP),
            Blow::Cut => drop(self.edges.put(name, rule(name, Direction::Both, &[], Effect::Drop))),
        }
    }

    fn undo(&mut self, blow: Blow, name: &str) {
        match blow {
            Blow::Kill => {
                self.members.remove(name).unwrap().wait().unwrap();
                self.join(name.split_once('-').unwrap().0);
                return;
            }
            Blow::Pause => self.signal(name, Signal::CONT),
            Blow::Cut => drop(self.edges.heal(name)),
        }
        self.watch.add(self.members[name].id());
    }

    /// Does this to the leaders of some groups at once, and undoes it when each has another one.
    fn trial(&mut self, blow: Blow, groups: &[usize]) -> Trial {
        let leaders = self.steady();
        let victims: Vec<String> = groups.iter().map(|group| leaders[*group].clone()).collect();
        let from = Mono::now();
        victims.iter().for_each(|victim| self.hit(blow, victim));
        let others = |group: usize| {
            let seen = self.seen.lock().unwrap();
            let leaders = seen.leaders(GROUPS[group]);
            leaders.iter().any(|name| *name != victim_of(&victims, group))
        };
        eventually("another leader", SOON, || others(groups[0]).then_some(()));
        let takeover = Mono::now().since(from);
        for group in groups {
            eventually("another leader", SOON, || others(*group).then_some(()));
        }
        victims.iter().for_each(|victim| self.undo(blow, victim));
        self.steady();
        let until = Mono::now();
        let hole = self.seen.lock().unwrap().hole(from, until);
        let stalled = self.watch.longest(from, until);
        Trial { blow, victims, hole, takeover, stalled }
    }

    /// The leader of one group is hit; the groups take turns.
    pub fn hit_one(&mut self, number: usize) -> Trial {
        self.trial(Blow::ALL[number % 3], &[number % 2])
    }

    /// The leaders of both groups are hit at once: more than the feed is made for.
    pub fn hit_both(&mut self, blow: Blow) -> Trial {
        self.trial(blow, &[0, 1])
    }

    /// How many prices arrived, how many of them twice, and how many never.
    pub fn counts(&self) -> (usize, usize, usize) {
        let seen = self.seen.lock().unwrap();
        (seen.newer.len(), seen.duplicates, seen.missed.len())
    }
}

/// The victim of this group, of which a name begins with the group's.
fn victim_of(victims: &[String], group: usize) -> &str {
    let of = |name: &&String| name.split('-').next() == Some(GROUPS[group]);
    victims.iter().find(of).map_or("", String::as_str)
}

impl Drop for Feed {
    fn drop(&mut self) {
        for process in self.members.values_mut().chain([&mut self.subscriber]) {
            process.kill().ok();
            process.wait().ok();
        }
    }
}
