//! The mesh of one member: links to the others of its group, by which it learns of deaths, and who
//! stands in for the dead. Without input, output, clock or chance.
//!
//! ```text
//!   links ---- handle_linked, _word, _ended --> +------+ ---- poll_word, _close ---> links
//!   network -- handle_undialed ---------------> | Mesh | ---- poll_dial -----------> network
//!   ledger --- handle_statement --------------> |      | ---- poll_order, _inquest -> Neli
//!   Neli ----- handle_own --------------------> |      | ---- poll_timeout --------> clock
//!   clock ---- handle_timeout ----------------> +------+
//! ```
//!
//! Feed it what happened, then drain every `poll_*` until it is silent. Only for the non-exclusive
//! mode: a stand-in may lead beside a member that was taken for dead and lives.
//!
//! - **Links.** One a pair: the lesser life dials the greater, at the address that it states.
//! - **Death.** A link that ends without a goodbye, and was not hung up. The member tells all
//!   others ([`Notice`]), who pass it on once, and again only if they know more of what the dead
//!   one owned. A member whose own link to the dead one still stands asks there first, and believes
//!   the notice if nothing is said for [`DOUBT`].
//! - **Tombstones** name a process, so that late statements revive no member, and notices spare a
//!   restarted one. A new link to the same process lifts one: then it was not dead, and its
//!   stand-ins end. The dead are dialed at once for that, [`REVIVALS`] times. An answer on the
//!   ledger lifts one as well: see [`inquest`](self::inquest).
//! - **Half-open links** are found by questions, and make no death: see
//!   [`half_open`](self::half_open).
//! - **Stand-ins.** An orphan is a partition whose last known owner is dead. Its next owner is a
//!   living member that was given it in a later generation, and otherwise the winner of a
//!   rendezvous hash over the living that were in the group in the orphan's generation. A member
//!   that is only perhaps there is left out: a missing entry makes two stand-ins, one too many
//!   none. Orphans are hashed again at each death, and only then: a partition that has a stand-in
//!   needs no other until a newer owner leads. A stand-in ends when a newer owner leads (that is
//!   [`Neli`](crate::Neli)'s part), or with its term.
//! - **Suspicion**, off unless asked for: a member that is silent for so long is stood in for,
//!   without tombstone or notice. See [`suspicion`](self::suspicion).

mod death;
mod half_open;
mod inquest;
mod orphans;
mod peer;
mod process;
mod rendezvous;
mod suspicion;
mod word;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use inquest::Inquest;
use orphans::Orphans;
use peer::{Dial, Link, Peer, State};
pub use process::Process;
pub use word::{Notice, Share, Word};

use crate::{Statement, UNASSIGNED};
use tandem_facts::ids::{ConsumerGroup, Life, PartitionId};
use tandem_facts::time::Mono;

/// The most members that are remembered, tombstones among them.
const PEERS_MOST: usize = 256;
/// The shortest time for which a tombstone stays. Late statements were up to 1.5 s old under load.
const TOMB_LEAST: Duration = Duration::from_secs(5);
/// A member that has no link and states nothing for this long is forgotten.
const FORGET: Duration = Duration::from_secs(10);
/// How long a link may be silent after others said that its member is dead.
const DOUBT: Duration = Duration::from_millis(100);
/// How often a dead member is dialed again after the first attempt.
const REVIVALS: u32 = 2;

/// The configuration of a mesh; fixed for its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshConfig {
    /// The member's group. Statements of other groups are ignored.
    pub group: ConsumerGroup,
    /// The member's own process.
    pub me: Process,
    /// The term of a stand-in: as long as the group may take to notice a death and to give the
    /// dead member's partitions to others, `S + x + B + F`.
    pub stand_in: Duration,
    /// A link that is silent for this long makes its member suspect; none: silence means nothing.
    pub suspect: Option<Duration>,
}

/// A connection to another member, as the caller numbers them. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u64);

/// Why a member is stood in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its link ended without a goodbye, here or at another member.
    Death,
    /// Its link was silent ([`MeshConfig::suspect`]).
    Silence,
}

/// What this member is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Stand in, or stand in for longer.
    Stand(StandIn),
    /// End that: the owner lives.
    End {
        /// The partition.
        partition: PartitionId,
    },
}

/// A claim on a partition whose owner is dead or suspected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// The partition.
    pub partition: PartitionId,
    /// The generation in which the owner was given it: it ends for an owner of a later one.
    pub generation: i32,
    /// The first instant after the claim, if no newer owner leads before.
    pub until: Mono,
    /// The owner.
    pub of: Life,
    /// Why.
    pub cause: Cause,
}

/// The mesh of one member.
#[derive(Debug)]
pub struct Mesh {
    config: MeshConfig,
    own: Option<Statement>,
    /// The first generation in which this member was given anything or nothing.
    since: Option<i32>,
    peers: BTreeMap<Process, Peer>,
    links: BTreeMap<LinkId, Process>,
    orphans: Orphans,
    words: VecDeque<(LinkId, Word)>,
    closes: VecDeque<LinkId>,
    orders: VecDeque<Order>,
    inquest: Inquest,
    /// What of it was stated last.
    stated: Inquest,
    /// The number of the last question.
    questions: u32,
    /// When it was last called.
    turned: Mono,
    /// When the next sign of life is due.
    beat: Option<Mono>,
    gone: bool,
}

impl Mesh {
    /// A member without links.
    #[must_use]
    pub fn new(now: Mono, config: MeshConfig) -> Self {
        Self {
            beat: config.suspect.map(|_| now),
            config,
            own: None,
            since: None,
            peers: BTreeMap::new(),
            links: BTreeMap::new(),
            orphans: Orphans::default(),
            words: VecDeque::new(),
            closes: VecDeque::new(),
            orders: VecDeque::new(),
            inquest: Inquest::default(),
            stated: Inquest::default(),
            questions: 0,
            turned: now,
            gone: false,
        }
    }

    /// What this member states about itself now; the others learn of a change at once.
    pub fn handle_own(&mut self, now: Mono, statement: Statement) {
        self.turn(now);
        if self.own.as_ref() == Some(&statement) || self.gone {
            return;
        }
        self.since = earliest(self.since, statement.generation);
        let links: Vec<LinkId> = self.links.keys().copied().collect();
        for link in links {
            self.words.push_back((link, Word::Statement(statement.clone())));
        }
        self.own = Some(statement);
        self.settle();
    }

    /// A statement of another member, or of this one, read on the ledger. It may be late.
    pub fn handle_statement(&mut self, now: Mono, statement: &Statement) {
        self.turn(now);
        self.stated(now, statement, false);
    }

    fn stated(&mut self, now: Mono, statement: &Statement, in_order: bool) {
        let life = &Process::of(statement);
        if statement.group != self.config.group || *life == self.config.me || self.gone {
            return;
        }
        let dials = self.config.me < *life;
        if !in_order {
            self.heed(now, statement);
        }
        let Some(peer) = self.peer(now, life) else { return };
        let news = peer.state(now, statement, in_order);
        match peer.state {
            State::Here => {
                if dials {
                    peer.dial(now, None);
                }
                self.vouched(now, life);
                self.settle();
            }
            // It came late, and says more than was known of what the dead one owned.
            State::Dead(_) if news => self.bereave(now, life),
            State::Dead(_) | State::Left(_) => {}
        }
    }

    /// A connection to `life` stands, from either side; both ends have said who they are.
    pub fn handle_linked(&mut self, now: Mono, link: LinkId, life: &Process) {
        self.turn(now);
        let fits = *life != self.config.me && !self.gone;
        let Some(peer) = fits.then(|| self.peer(now, life)).flatten() else {
            self.closes.push_back(link);
            return;
        };
        peer.dial = Dial::Idle;
        let before = peer.link.replace(Link::new(now, link));
        if let Some(before) = before {
            self.links.remove(&before.id);
            self.closes.push_back(before.id);
        }
        self.links.insert(link, life.clone());
        // Only a living process opens a link.
        self.lives(now, life);
        if let Some(own) = &self.own {
            self.words.push_back((link, Word::Statement(own.clone())));
        }
        // It may be new, and the last to live of those that know of these.
        let notices = self.orphans.notices();
        self.words.extend(notices.into_iter().map(|notice| (link, Word::Dead(notice))));
    }

    /// A dial failed, or the process that answered is another one.
    pub fn handle_undialed(&mut self, now: Mono, life: &Process) {
        self.turn(now);
        if let Some(peer) = self.peers.get_mut(life) {
            peer.undialed(now);
        }
    }

    /// The other end of a link says something.
    pub fn handle_word(&mut self, now: Mono, link: LinkId, word: Word) {
        self.turn(now);
        let Some(life) = self.links.get(&link).cloned() else { return };
        self.spoke(now, &life);
        match word {
            // It speaks for itself alone.
            Word::Statement(statement) if Process::of(&statement) == life => {
                self.stated(now, &statement, true);
            }
            Word::Statement(_) | Word::Alive => {}
            Word::Notice(notice) => self.noticed(now, &notice),
            Word::Dead(notice) => self.learned(now, &notice),
            Word::Ask => self.words.push_back((link, Word::Alive)),
            Word::Hangup => self.hung_up(now, &life),
            Word::Goodbye => {
                if let Some(peer) = self.peers.get_mut(&life) {
                    peer.state = State::Left(now);
                }
                // What it stood in for needs another.
                self.grant();
            }
        }
    }

    /// The member leaves, and claims nothing any more: it says goodbye.
    pub fn handle_leave(&mut self, now: Mono) {
        self.turn(now);
        self.gone = true;
        self.orphans.clear();
        self.orders.clear();
        self.beat = None;
        for peer in self.peers.values_mut() {
            peer.dial = Dial::Idle;
        }
        self.words.extend(self.links.keys().map(|&link| (link, Word::Goodbye)));
    }

    /// Time has passed. Before the call, feed all that has arrived: silence is judged here.
    pub fn handle_timeout(&mut self, now: Mono) {
        self.turn(now);
        self.orphans.expire(now);
        if self.gone {
            return;
        }
        self.doubt(now);
        self.judge_silence(now);
        self.look_for_half_open(now);
        let tomb = self.tomb();
        self.peers.retain(|_, peer| {
            peer.link.is_some()
                || match peer.state {
                    State::Here => now.since(peer.known) < FORGET,
                    State::Left(at) | State::Dead(at) => now.since(at) < tomb,
                }
        });
        self.close_inquests();
    }

    /// The next word to send. One that the link has no room for ends the link.
    #[must_use]
    pub fn poll_word(&mut self) -> Option<(LinkId, Word)> {
        self.words.pop_front()
    }

    /// The next link to close. Its end is not reported.
    #[must_use]
    pub fn poll_close(&mut self) -> Option<LinkId> {
        self.closes.pop_front()
    }

    /// The next member to dial, and where.
    #[must_use]
    pub fn poll_dial(&mut self) -> Option<(Process, String)> {
        let now = self.turned;
        self.peers.iter_mut().find_map(|(life, peer)| Some((life.clone(), peer.take_dial(now)?)))
    }

    /// The next order for this member's claims.
    #[must_use]
    pub fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next, if ever.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        let tomb = self.tomb();
        let peers = self.peers.values().flat_map(|peer| {
            let dial = match peer.dial {
                Dial::Due { at, .. } => Some(at),
                Dial::Idle | Dial::Underway { .. } => None,
            };
            [dial, peer.link.and_then(|link| link.doubt), peer.link.map(|link| link.look(tomb))]
        });
        peers.flatten().chain(self.orphans.next()).chain(self.beat).min()
    }

    /// The number of members to which a link stands.
    #[must_use]
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The entry of a life; none if there are too many.
    fn peer(&mut self, now: Mono, life: &Process) -> Option<&mut Peer> {
        if !self.peers.contains_key(life) {
            if self.peers.len() >= PEERS_MOST {
                let unlinked = self.peers.iter().filter(|(_, peer)| peer.link.is_none());
                let oldest = unlinked.min_by_key(|(_, peer)| peer.known)?.0.clone();
                self.peers.remove(&oldest);
            }
            self.peers.insert(life.clone(), Peer::new(now));
        }
        self.peers.get_mut(life)
    }

    fn tomb(&self) -> Duration {
        self.config.stand_in.max(TOMB_LEAST)
    }
}

/// The first generation in which a member was given anything or nothing, after it was in this one.
fn earliest(since: Option<i32>, generation: i32) -> Option<i32> {
    let assigned = Some(generation).filter(|generation| *generation != UNASSIGNED);
    since.into_iter().chain(assigned).min()
}
