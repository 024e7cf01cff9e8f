//! A group in virtual time: the real coordinator and the real cores of its members, with every
//! delay chosen, so that the worst and the best case can be played exactly.

mod exclusive;
mod outputs;
mod silent;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use tandem::groups::{
    Coordinator, CoordinatorSettings, Fault, Heartbeat, Join, JoinReply, Protocol, ReplyBody, Sync,
    SyncReply, Token,
};
use tandem::ids::{Life, PartitionId};
use tandem::neli::{
    Assignment, Config, Heard, Identity, Membership, Neli, Publishers, Pulse, Statement,
};
use tandem::time::{Mono, Wall};
use tandem::topology::Terms;

const GROUP: &str = "g";
/// The partition on which members state what they hold and lead.
const DIRECT: PartitionId = PartitionId(0);
/// Of these, what a new owner's first message takes is made: the end of the log is looked up, then
/// what is published after that travels.
const LOOK_UP: Duration = Duration::from_millis(10);

/// Whether every delay is the longest or the shortest that the terms allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Luck {
    Worst,
    Best,
}

enum Due {
    Beat(usize),
    Join(usize),
    Joined(usize, JoinReply),
    Synced(usize, SyncReply),
    Message {
        to: usize,
        message: Heard,
    },
    Statement {
        to: usize,
        statement: Statement,
    },
    /// In exclusive mode: both answers have come, of which the earlier request left at `since`.
    Proof {
        of: usize,
        generation: i32,
        since: Mono,
    },
    Core(usize),
    Coordinator,
}

struct Client {
    core: Neli,
    member_id: String,
    generation: i32,
    /// What it holds, and since when its fetches see the end of the log.
    holds: BTreeMap<PartitionId, Mono>,
    /// From here on nothing comes from it or reaches it.
    cut: Option<Mono>,
    /// From here on it has no further proof.
    proved: Option<Mono>,
    /// A partition that it hears nothing on.
    deaf: Option<PartitionId>,
}

/// One group, its coordinator, its ledger.
pub struct World {
    pub now: Mono,
    terms: Terms,
    luck: Luck,
    width: NonZeroU32,
    config: Config,
    publishers: Publishers,
    coordinator: Coordinator,
    clients: Vec<Client>,
    agenda: BTreeMap<(Mono, u64), Due>,
    order: u64,
    tokens: BTreeMap<Token, usize>,
    /// Every claim that began: when, whose, on what.
    pub acquired: Vec<(Mono, usize, PartitionId)>,
    /// Every claim that ended: when, whose, on what.
    pub ended: Vec<(Mono, usize, PartitionId)>,
    /// When the group was last given its partitions.
    pub settled: Mono,
    /// Statements of these are lost that leave at once with a claim.
    pub loses_announcements: bool,
    /// The beacons of this one get lost, all of them.
    pub mute: Option<usize>,
    /// How many beacons were published, and how many delivered.
    pub published: usize,
    pub delivered: usize,
}

impl World {
    /// So many members join at once.
    pub fn new(terms: Terms, luck: Luck, members: usize, width: u32, beacon: Duration) -> Self {
        Self::publishing(Publishers::All, terms, luck, members, (width, beacon))
    }

    /// The same with these publishers.
    pub fn publishing(
        publishers: Publishers,
        terms: Terms,
        luck: Luck,
        members: usize,
        (width, beacon): (u32, Duration),
    ) -> Self {
        let width = NonZeroU32::new(width).unwrap();
        let (mode, pulse, hold) = (terms.mode, Pulse::Clock, Duration::ZERO);
        let config = Config { width, threshold: terms.threshold, hold, beacon, mode, pulse };
        let mut world = Self {
            now: Mono::ZERO,
            terms,
            luck,
            width,
            coordinator: Coordinator::new(CoordinatorSettings::default()),
            config,
            publishers,
            clients: Vec::new(),
            agenda: BTreeMap::new(),
            order: 0,
            tokens: BTreeMap::new(),
            acquired: Vec::new(),
            ended: Vec::new(),
            settled: Mono::ZERO,
            loses_announcements: false,
            mute: None,
            published: 0,
            delivered: 0,
        };
        (0..members).for_each(|_| world.enter());
        world
    }

    /// One more member joins.
    pub fn enter(&mut self) {
        let number = self.clients.len();
        let core = self.core(number);
        let (member_id, holds) = (String::new(), BTreeMap::new());
        let (cut, proved, deaf, generation) = (None, None, None, -1);
        self.clients.push(Client { core, member_id, generation, holds, cut, proved, deaf });
        self.at(self.now, Due::Join(number));
        self.at(self.now, Due::Core(number));
    }

    fn core(&self, number: usize) -> Neli {
        let core = Neli::new(self.now, self.config).with_grace(self.terms.grace);
        let life = Life::try_from(format!("g-{number}.1")).unwrap();
        let (group, process) = (GROUP.parse().unwrap(), number as u64);
        let me = Identity { group, life, process, address: None };
        let hands_over = self.terms.statement.is_some();
        let core = if hands_over { core.handing_over(me, DIRECT) } else { core };
        core.publishing(self.publishers)
    }

    fn lucky(&self, worst: Duration) -> Duration {
        if self.luck == Luck::Worst { worst } else { Duration::ZERO }
    }

    fn at(&mut self, when: Mono, due: Due) {
        self.order += 1;
        self.agenda.insert((when, self.order), due);
    }

    /// Lets time pass until `end`.
    pub fn run(&mut self, end: Mono) {
        loop {
            if let Some(at) = self.coordinator.poll_timeout() {
                self.at(at.max(self.now), Due::Coordinator);
            }
            match self.agenda.first_key_value() {
                Some((&(at, _), _)) if at <= end => {
                    let (_, due) = self.agenda.pop_first().unwrap();
                    self.now = self.now.max(at);
                    self.handle(due);
                }
                _ => return self.now = end,
            }
        }
    }

    /// From `when` on nothing comes from `client` or reaches it, but for one heartbeat that was on
    /// its way and arrives at `last_beat`.
    pub fn cut(&mut self, client: usize, when: Mono, last_beat: Mono) {
        self.clients[client].cut = Some(when);
        let beat = self.beat(client);
        self.silence(client);
        self.run(last_beat);
        assert_eq!(self.coordinator.handle_heartbeat(last_beat, &beat), Ok(()));
    }

    /// Forgets the heartbeats of `client` that are still to come.
    fn silence(&mut self, client: usize) {
        self.agenda.retain(|_, due| !matches!(due, Due::Beat(index) if *index == client));
    }

    /// Whether `client` leads `partition` now.
    pub fn leads(&self, client: usize, partition: PartitionId) -> bool {
        self.clients[client].core.leads(self.now, partition)
    }

    /// What `client` was given.
    pub fn holds(&self, client: usize) -> Vec<PartitionId> {
        self.clients[client].holds.keys().copied().collect()
    }

    /// A message reaches `client` at once.
    pub fn hear(&mut self, client: usize, partition: PartitionId) {
        self.deliver(client, Heard { partition, sent: None });
    }

    fn deliver(&mut self, client: usize, message: Heard) {
        if self.clients[client].deaf == Some(message.partition) {
            return;
        }
        let (now, core) = (self.now, &mut self.clients[client].core);
        // All clocks agree. The broker stamps a message as it delivers it.
        let wall = Wall(i64::try_from(now.0 / 1_000_000).unwrap());
        core.handle_clock(now, wall);
        core.handle_stamped(now, message, wall);
        self.drain(client);
    }

    fn beat(&self, client: usize) -> Heartbeat {
        let Client { member_id, generation, .. } = &self.clients[client];
        let (group, member_id) = (GROUP.to_owned(), member_id.clone());
        Heartbeat { group, member_id, instance_id: None, generation: *generation }
    }

    fn handle(&mut self, due: Due) {
        match due {
            Due::Coordinator => self.coordinator.handle_timeout(self.now),
            Due::Core(index) => {
                self.clients[index].core.handle_timeout(self.now);
                self.drain(index);
            }
            Due::Message { to, message } if !self.is_cut(to) => self.deliver(to, message),
            Due::Statement { to, statement } if !self.is_cut(to) => {
                self.clients[to].core.handle_statement(self.now, &statement);
                self.drain(to);
            }
            Due::Proof { of, generation, since } if !self.is_cut(of) => {
                self.prove_at(of, generation, since);
            }
            Due::Beat(index) if !self.is_cut(index) => self.heartbeat(index),
            Due::Join(index) if !self.is_cut(index) => self.join(index),
            Due::Joined(index, reply) if !self.is_cut(index) => self.joined(index, reply),
            Due::Synced(index, reply) if !self.is_cut(index) => self.synced(index, reply),
            // A member that is cut off neither sends nor receives.
            Due::Message { .. }
            | Due::Proof { .. }
            | Due::Statement { .. }
            | Due::Beat(_)
            | Due::Join(_)
            | Due::Joined(..)
            | Due::Synced(..) => {}
        }
        self.answer();
    }

    fn is_cut(&self, client: usize) -> bool {
        self.clients[client].cut.is_some_and(|cut| cut <= self.now)
    }

    fn heartbeat(&mut self, index: usize) {
        let beat = self.beat(index);
        match self.coordinator.handle_heartbeat(self.now, &beat) {
            Ok(()) => {
                self.ask_for_proof(index);
                self.at(self.now + self.terms.silence(), Due::Beat(index));
            }
            Err(Fault::RebalanceInProgress) => {
                // The broker tells it to rejoin, and it does so after its current poll.
                self.at(self.now + self.lucky(self.terms.wake), Due::Join(index));
            }
            Err(fault) => panic!("client {index} at {:?}: {fault:?}", self.now),
        }
    }

    fn join(&mut self, index: usize) {
        if self.clients[index].deaf.is_some() {
            // It has not been asked to join: its heartbeats end here.
            self.silence(index);
        }
        let held = self.clients[index].holds.keys().copied().collect();
        self.clients[index].holds.clear();
        self.clients[index].core.handle_membership(self.now, &Membership::Revoked(held));
        let join = Join {
            group: GROUP.to_owned(),
            member_id: self.clients[index].member_id.clone(),
            instance_id: None,
            client_id: format!("c{index}"),
            client_host: String::new(),
            suffix: "x".to_owned(),
            session: self.terms.session,
            rebalance: Duration::from_secs(10),
            protocol_type: "consumer".to_owned(),
            protocols: vec![Protocol { name: "roundrobin".to_owned(), metadata: self.says(index) }],
            needs_known_id: false,
            can_skip_assignment: false,
        };
        let token = self.token(index);
        self.coordinator.handle_join(self.now, token, &join);
    }

    fn token(&mut self, index: usize) -> Token {
        self.order += 1;
        self.tokens.insert(Token(self.order), index);
        Token(self.order)
    }

    /// Replies take a round trip to their clients.
    fn answer(&mut self) {
        while let Some(reply) = self.coordinator.poll_reply() {
            let index = self.tokens.remove(&reply.token).unwrap();
            let when = self.now + self.lucky(self.rtt());
            self.at(
                when,
                match reply.body {
                    ReplyBody::Join(reply) => Due::Joined(index, reply),
                    ReplyBody::Sync(reply) => Due::Synced(index, reply),
                },
            );
        }
    }

    /// `B = h' + poll + 2 rtt`.
    fn rtt(&self) -> Duration {
        (self.terms.rebalance - self.terms.silence() - self.terms.wake) / 2
    }

    fn joined(&mut self, index: usize, reply: JoinReply) {
        let joined = reply.outcome.unwrap();
        self.clients[index].member_id = reply.member_id;
        self.clients[index].generation = joined.generation;
        let ids: Vec<&String> = joined.members.iter().map(|member| &member.member_id).collect();
        let deal = |place: usize| {
            let all = (0..self.width.get()).filter(|k| self.place_of(*k, &ids) == place);
            all.map(|k| k as u8).collect::<Vec<_>>()
        };
        let members = joined.members.iter().enumerate();
        let assignments =
            members.map(|(place, m)| (m.member_id.clone(), Bytes::from(deal(place)))).collect();
        let sync = Sync {
            group: GROUP.to_owned(),
            member_id: self.clients[index].member_id.clone(),
            instance_id: None,
            generation: joined.generation,
            protocol_type: None,
            protocol: None,
            must_name_protocol: false,
            assignments,
        };
        let token = self.token(index);
        self.coordinator.handle_sync(self.now, token, &sync);
    }

    fn synced(&mut self, index: usize, reply: SyncReply) {
        let share = match reply {
            Ok(synced) => synced.assignment,
            Err(Fault::RebalanceInProgress) => {
                return self.at(self.now + self.lucky(self.terms.wake), Due::Join(index));
            }
            Err(fault) => panic!("client {index} at {:?}: {fault:?}", self.now),
        };
        self.silence(index);
        let partitions: Vec<_> = share.iter().map(|&k| PartitionId(u32::from(k))).collect();
        let sees = self.now + self.lucky(LOOK_UP);
        self.clients[index].holds = partitions.iter().map(|&k| (k, sees)).collect();
        let generation = Some(self.clients[index].generation);
        let assignment = Assignment { generation, member_id: None, partitions };
        self.clients[index].core.handle_membership(self.now, &Membership::Assigned(assignment));
        self.settled = self.now;
        self.at(self.now + self.terms.silence(), Due::Beat(index));
        self.ask_for_proof(index);
        self.drain(index);
    }
}
