//! A simulated ensemble, in virtual time: answers and reports are late at random, a member is
//! stopped, cut off, or connected to a server that its leader does not reach. Mistakes of a shell
//! can be planted.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use tandem::ids::PartitionId;
use tandem::neli::elections::over_store::OverStore;
use tandem::neli::elections::zookeeper::{
    Answer, Config, Node, Request, SessionId, Watched, ZooKeeper, Zxid,
};
use tandem::time::Mono;

use super::ms;

const WIDTH: NonZeroU32 = NonZeroU32::new(2).unwrap();
const SESSION: u64 = 1_000;
/// How long before a write the leader may have heard of the session for the last time.
const SLACK: u64 = 400;
/// The time between two looks at the world, and how long members are hit.
const STEP: u64 = 4;
const CALM: u64 = 20_000;

/// A mistake of the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mistake {
    None,
    /// It takes the highest number for the lowest.
    HighestLeads,
    /// It counts from a read, which the member's server answers alone.
    Reads,
    /// It watches a node without asking whether it is there.
    WatchesBlindly,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    TwoLead(u64),
    NoneLeads,
    /// One deletion has woken several members.
    Herd(u64),
}

enum Input {
    Answer(u64, Answer),
    Watched(u64, Watched),
}

struct Arriving {
    member: usize,
    number: u64,
    request: Request,
    back: u64,
}

#[derive(Debug, Clone)]
struct Stored {
    node: Node,
    partition: PartitionId,
    session: i64,
    created: u64,
    zxid: i64,
    deleted: Option<u64>,
}

pub(super) struct World {
    now: u64,
    chance: ChaCha12Rng,
    mistake: Mistake,
    members: Vec<ZooKeeper>,
    sessions: Vec<i64>,
    stopped: Vec<u64>,
    cut: Vec<u64>,
    /// Until when a member's server does not hear of the leader, and up to when it has.
    behind: Vec<u64>,
    seen: Vec<u64>,
    /// How long ago the leader last heard of a session when its member writes.
    slack: Option<u64>,
    to_store: BTreeMap<(u64, u64), Arriving>,
    to_member: BTreeMap<(u64, u64), (usize, Input)>,
    order: u64,
    zxid: i64,
    last_session: i64,
    /// When each session that lives is over.
    alive: BTreeMap<i64, u64>,
    nodes: Vec<Stored>,
    sequence: [u32; 2],
    /// Which node a watch of a member is for.
    watches: BTreeMap<(usize, PartitionId), (u64, Node)>,
    /// The most watches that one deletion has fired.
    fired: usize,
}

impl World {
    pub(super) fn new(seed: u64, mistake: Mistake) -> Self {
        let config = Config {
            width: WIDTH,
            session: Duration::from_millis(SESSION),
            heartbeat: Duration::from_millis(SESSION / 10),
            threshold: Duration::from_millis(SESSION - SLACK),
        };
        Self {
            now: 0,
            chance: ChaCha12Rng::seed_from_u64(seed),
            mistake,
            members: (0..3).map(|_| ZooKeeper::new(Mono::ZERO, config)).collect(),
            sessions: vec![0; 3],
            stopped: vec![0; 3],
            cut: vec![0; 3],
            behind: vec![0; 3],
            seen: vec![0; 3],
            slack: seed.is_multiple_of(2).then_some(SLACK - 1),
            to_store: BTreeMap::new(),
            to_member: BTreeMap::new(),
            order: 0,
            zxid: 0,
            last_session: 0,
            alive: BTreeMap::new(),
            nodes: Vec::new(),
            sequence: [0; 2],
            watches: BTreeMap::new(),
            fired: 0,
        }
    }

    pub(super) fn run(mut self) -> Result<(), Wrong> {
        while self.now < CALM + 5 * SESSION {
            self.now += STEP;
            self.disturb();
            self.serve();
            self.report();
            for member in 0..self.members.len() {
                if self.stopped[member] <= self.now {
                    self.turn(member);
                }
            }
            if (0..WIDTH.get()).any(|k| self.leaders(PartitionId(k)) > 1) {
                return Err(Wrong::TwoLead(self.now));
            }
        }
        if self.fired > 1 {
            return Err(Wrong::Herd(self.now));
        }
        let led = (0..WIDTH.get()).all(|k| self.leaders(PartitionId(k)) == 1);
        if led { Ok(()) } else { Err(Wrong::NoneLeads) }
    }

    fn disturb(&mut self) {
        if CALM <= self.now || !self.chance.random_ratio(1, 300) {
            return;
        }
        let member = self.chance.random_range(0..self.members.len());
        let until = self.now + self.chance.random_range(1..2 * SESSION);
        match self.chance.random_range(0..3) {
            0 => self.stopped[member] = until,
            1 => self.cut[member] = until,
            _ => self.behind[member] = until,
        }
    }

    fn delay(&mut self, member: usize) -> u64 {
        self.chance.random_range(1..15) + self.cut[member].saturating_sub(self.now)
    }

    fn turn(&mut self, member: usize) {
        let now = self.now;
        self.members[member].handle_timeout(ms(now));
        let due = self.to_member.iter().filter(|((at, _), (to, _))| *at <= now && *to == member);
        for key in due.map(|(key, _)| *key).collect::<Vec<_>>() {
            match self.to_member.remove(&key) {
                Some((_, Input::Answer(number, answer))) => {
                    self.members[member].handle_answer(ms(now), number, answer);
                }
                Some((_, Input::Watched(number, watched))) => {
                    self.members[member].handle_watched(ms(now), number, watched);
                }
                None => {}
            }
        }
        loop {
            let (there, back) = (self.delay(member), self.delay(member));
            let Some((number, request)) = self.members[member].poll_request(ms(now)) else {
                break;
            };
            // A watch may begin late.
            let slow = matches!(request, Request::Watch(..));
            let there = there + if slow { self.chance.random_range(0..SESSION / 2) } else { 0 };
            self.order += 1;
            let arriving = Arriving { member, number, request, back };
            self.to_store.insert((now + there, self.order), arriving);
        }
        while self.members[member].poll_event().is_some() {}
    }

    /// The leader ends sessions that are over; requests are answered.
    fn serve(&mut self) {
        let now = self.now;
        let over = self.alive.iter().filter(|(_, until)| **until <= now);
        for id in over.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.close(id);
        }
        for member in 0..self.members.len() {
            if self.behind[member] <= now {
                let lag = self.chance.random_range(0..30);
                self.seen[member] = self.seen[member].max(now.saturating_sub(lag));
            }
        }
        while let Some(((at, _), _)) = self.to_store.first_key_value()
            && *at <= now
        {
            let Some((_, arriving)) = self.to_store.pop_first() else { break };
            // A write waits until the server reaches its leader.
            let read = matches!(arriving.request, Request::List(_) | Request::Watch(..))
                || (self.mistake == Mistake::Reads && arriving.request == Request::Renew);
            let reached = self.behind[arriving.member];
            if !read && now < reached {
                self.order += 1;
                self.to_store.insert((reached, self.order), arriving);
                continue;
            }
            let Arriving { member, number, request, back } = arriving;
            let lost = now < CALM && self.chance.random_ratio(1, 40);
            let answer = self.answer(member, number, &request);
            let answer =
                if lost && matches!(request, Request::Create(_)) { Answer::Failed } else { answer };
            self.send(member, back, Input::Answer(number, answer));
        }
    }

    fn send(&mut self, member: usize, back: u64, input: Input) {
        self.order += 1;
        self.to_member.insert((self.now + back, self.order), (member, input));
    }

    fn close(&mut self, id: i64) {
        self.alive.remove(&id);
        for stored in &mut self.nodes {
            if stored.session == id && stored.deleted.is_none() {
                stored.deleted = Some(self.now);
            }
        }
    }

    /// Watches fire once the member's server has seen the deletion.
    fn report(&mut self) {
        let mut fired: BTreeMap<(PartitionId, Node), usize> = BTreeMap::new();
        for ((member, partition), (number, node)) in self.watches.clone() {
            let seen = self.seen[member];
            let gone = self.nodes.iter().any(|it| {
                it.node == node
                    && it.partition == partition
                    && it.deleted.is_some_and(|at| at <= seen)
            });
            if gone {
                self.watches.remove(&(member, partition));
                let session = self.sessions[member];
                let counts = self.alive.contains_key(&session) && !node.is_of(SessionId(session));
                *fired.entry((partition, node)).or_default() += usize::from(counts);
                let back = self.delay(member);
                self.send(member, back, Input::Watched(number, Watched::Deleted));
            }
        }
        self.fired = self.fired.max(fired.values().copied().max().unwrap_or(0));
    }

    fn visible(&self, member: usize, partition: PartitionId) -> Vec<Stored> {
        let seen = self.seen[member];
        let there = |it: &&Stored| {
            it.partition == partition
                && it.created <= seen
                && it.deleted.is_none_or(|deleted| deleted > seen)
        };
        self.nodes.iter().filter(there).cloned().collect()
    }

    fn answer(&mut self, member: usize, number: u64, request: &Request) -> Answer {
        let id = self.sessions[member];
        let known = self.alive.contains_key(&id);
        match request {
            Request::Open(_) => {
                self.last_session += 1;
                self.watches.retain(|(watcher, _), _| *watcher != member);
                self.sessions[member] = self.last_session;
                self.alive.insert(self.last_session, self.now + SESSION);
                return Answer::Opened(
                    SessionId(self.last_session),
                    Duration::from_millis(SESSION),
                );
            }
            Request::Close => {
                self.close(id);
                return Answer::Closed;
            }
            // The server alone says so.
            Request::Renew if self.mistake == Mistake::Reads && self.now < self.behind[member] => {
                return Answer::Renewed;
            }
            _ if !known => return Answer::NoSession,
            _ => {}
        }
        match request {
            Request::Open(_) | Request::Close => Answer::Closed,
            Request::Renew => {
                let any = self.chance.random_range(0..SLACK);
                let heard = self.now.saturating_sub(self.slack.unwrap_or(any));
                if let Some(until) = self.alive.get_mut(&id) {
                    *until = (*until).max(heard + SESSION);
                }
                Answer::Renewed
            }
            Request::List(partition) => {
                let shown = self.visible(member, *partition).into_iter();
                let turned = |node: Node| match self.mistake {
                    Mistake::HighestLeads => highest(&node),
                    _ => node,
                };
                Answer::Nodes(shown.map(|it| turned(it.node)).collect())
            }
            Request::Create(partition) => self.create(member, *partition),
            Request::Watch(partition, node) => {
                let turned = self.mistake == Mistake::HighestLeads;
                let node = if turned { highest(node) } else { node.clone() };
                let there = self.visible(member, *partition).into_iter();
                let found = there.into_iter().find(|it| it.node == node);
                match found {
                    Some(stored) => {
                        self.watches.insert((member, *partition), (number, node));
                        Answer::Exists(Zxid(stored.zxid))
                    }
                    // Of a node that is gone no deletion is reported.
                    None if self.mistake == Mistake::WatchesBlindly => Answer::Exists(Zxid(0)),
                    None => Answer::Absent,
                }
            }
            Request::Delete(partition, node) => {
                let now = self.now;
                let at = |it: &&mut Stored| it.partition == *partition && it.node == *node;
                if let Some(stored) = self.nodes.iter_mut().find(at) {
                    stored.deleted = stored.deleted.or(Some(now));
                }
                Answer::Deleted
            }
        }
    }

    fn create(&mut self, member: usize, partition: PartitionId) -> Answer {
        let session = self.sessions[member];
        let next = &mut self.sequence[partition.index()];
        let name = format!("{}{next:010}", SessionId(session).prefix());
        *next += 1;
        self.zxid += 1;
        self.nodes.push(Stored {
            node: Node::parse(&name).unwrap(),
            partition,
            session,
            created: self.now,
            zxid: self.zxid,
            deleted: None,
        });
        self.seen[member] = self.now;
        Answer::Created
    }

    /// How many members claim the partition now, by their horizons, stopped or not.
    fn leaders(&self, partition: PartitionId) -> usize {
        let leads = |member: &&ZooKeeper| {
            member.claims().any(|it| it.partition == partition && ms(self.now) < it.until)
        };
        self.members.iter().filter(leads).count()
    }
}

/// The same node with its number counted from the other end; its own inverse.
fn highest(node: &Node) -> Node {
    let (prefix, number) = node.name().split_at(node.name().len() - 10);
    let turned = 4_000_000_000 - number.parse::<u32>().unwrap();
    Node::parse(&format!("{prefix}{turned:010}")).unwrap()
}
