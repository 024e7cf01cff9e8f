//! Puts the letters of all clusters together: each fact once, in the order in which its member
//! wrote it. Pure.
//!
//! ```text
//!   tails -- handle_letter --> +-----------+ ---- poll ----> recorder
//!   time --- handle_timeout -> | Collation |
//!                              +-----------+
//! ```
//!
//! A fact whose number is not the next one waits: the ones before it may come by another cluster.
//! After [`PATIENCE`] it is taken without them, and its number says that they are missing.
//!
//! A fact of another clock is placed on that of the reader. A life whose clock was not compared yet
//! is unknown until it was, and then begins anew with a stated error; facts that cannot be placed
//! to within this error wait as well, and are missing after that time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::sight::Sight;
use super::standing::{Heard, News};
use super::{Clocks, Elsewhere, Letter, Origin, Placement, Reading, Standing};
use crate::ids::{ClusterName, GroupName, Incarnation, Life, MemberId};
use crate::observation::{ClockDomain, External, Fact, RunEvent};
use crate::time::Mono;

/// How long a fact waits for those before it.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// How long the word of a witness about orders, or about a death, waits until its instants can be
/// placed. Clocks are compared twice a second, but a busy host may compare them badly for a while.
const PLACES: Duration = Duration::from_secs(10);
/// The most facts of one life that wait.
const WAITING_MAX: usize = 10_000;
/// The most lives that are remembered after their deaths.
const DEAD_MAX: usize = 1_000;

/// What is to be recorded next.
#[derive(Debug, Clone, PartialEq)]
pub enum Collated {
    /// The reader's own word about a life.
    ByReader(Mono, Life, RunEvent),
    /// A fact of a member.
    ByMember(Fact),
    /// An order has cut this life off from its brokers since then, or it is not cut off any more.
    CutOff(Mono, Life, bool),
}

/// All letters so far.
#[derive(Debug)]
pub struct Collation {
    /// The groups whose members Tandem does not start.
    groups: BTreeSet<GroupName>,
    here: ClockDomain,
    clocks: Clocks<ClockDomain, (ClusterName, i32)>,
    lives: BTreeMap<Known, Progress>,
    homes: BTreeMap<MemberId, GroupName>,
    /// The latest life of each member.
    latest: BTreeMap<MemberId, Incarnation>,
    /// The dead, in order.
    dead: VecDeque<Known>,
    due: VecDeque<Collated>,
    refused: u64,
}

/// A process: two of them may have the same number, where their hosts count apart.
type Known = (MemberId, Incarnation, Mono, ClockDomain);

/// One life, as far as it has come.
#[derive(Debug)]
struct Progress {
    /// How it is recorded.
    life: Life,
    /// How its witness knows it.
    origin: Origin,
    /// What its witness has said of orders, and its latest word that waits, since when.
    heard: Heard,
    word: Option<(Mono, Standing)>,
    sight: Sight,
    /// The number of its next fact.
    next: u64,
    waiting: BTreeMap<u64, Fact>,
    /// Since when something waits.
    since: Option<Mono>,
    /// When it died, on its clock, and when that was said here.
    died: Option<(Mono, Mono)>,
    is_dead: bool,
}

impl Collation {
    /// Nothing was read yet. The members of these groups report what they do; `here` is the clock
    /// of this process.
    #[must_use]
    pub fn new(groups: BTreeSet<GroupName>, here: ClockDomain) -> Self {
        let (lives, homes, latest) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (dead, due) = (VecDeque::new(), VecDeque::new());
        let clocks = Clocks::default();
        Self { groups, here, clocks, lives, homes, latest, dead, due, refused: 0 }
    }

    /// Takes what an acknowledged record says of the clock of `host` and that of a broker of
    /// `cluster`. Returns whether that contradicts what was known.
    pub fn handle_reading(
        &mut self,
        host: &ClockDomain,
        cluster: &ClusterName,
        reading: Reading,
    ) -> bool {
        let Reading { broker, sent, acked, stamp } = reading;
        self.clocks.appended((host, &(cluster.clone(), broker)), [sent, acked], stamp)
    }

    /// Takes a letter, from any cluster.
    pub fn handle_letter(&mut self, now: Mono, letter: Letter) {
        if !self.admits(&letter.origin) {
            self.refused = self.refused.saturating_add(1);
            return;
        }
        let key = key(&letter.origin);
        if !self.lives.contains_key(&key) {
            self.begin(now, &key, &letter);
        }
        let Letter { died, orders, facts, .. } = letter;
        let found = |at| self.clocks.translate(&key.3, &self.here, at);
        let Some(progress) = self.lives.get_mut(&key) else { return };
        progress.compare(now, &facts, found, &mut self.due);
        progress.take(now, (died, facts), found, &mut self.due);
        if let Some(orders) = orders.filter(|_| !progress.is_dead) {
            let since = progress.word.take().map_or(now, |(since, _)| since);
            progress.word = Some((since, *orders));
        }
        progress.hear(now, found, &mut self.due);
        self.settle(now, &key);
    }

    /// Time passes: what was waited for in vain is missing.
    pub fn handle_timeout(&mut self, now: Mono) {
        let waits = |it: &Progress| it.word.is_some() || it.died.is_some() && !it.is_dead;
        let unplaced = self.lives.iter().filter(|(_, it)| waits(it)).map(|(key, _)| key.clone());
        for key in unplaced.collect::<Vec<_>>() {
            let found = |at| self.clocks.translate(&key.3, &self.here, at);
            if let Some(progress) = self.lives.get_mut(&key) {
                progress.hear(now, found, &mut self.due);
            }
            self.settle(now, &key);
        }
        let waits =
            |progress: &Progress| progress.since.is_some_and(|since| now.since(since) >= PATIENCE);
        let late =
            self.lives.iter().filter(|(_, progress)| waits(progress)).map(|(key, _)| key.clone());
        for key in late.collect::<Vec<_>>() {
            let found = |at| self.clocks.translate(&key.3, &self.here, at);
            if let Some(progress) = self.lives.get_mut(&key) {
                progress.skip(now, found, &mut self.due);
            }
            self.settle(now, &key);
        }
    }

    /// Whether there are members with another clock, so that this one is to be compared.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.lives.keys().any(|(_, _, _, clock)| *clock != self.here)
    }

    /// What is to be recorded next, if anything is.
    pub fn poll(&mut self) -> Option<Collated> {
        self.due.pop_front()
    }

    /// How the witness of a life knows it.
    #[must_use]
    pub fn origin_of(&self, life: &Life) -> Option<&Origin> {
        let found = self.lives.values().find(|progress| progress.life == *life);
        found.map(|progress| &progress.origin)
    }

    /// How many letters were refused: of groups whose members Tandem starts, or of a name that a
    /// member of another group bears.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn admits(&mut self, origin: &Origin) -> bool {
        let home = self.homes.entry(origin.life.member.clone());
        self.groups.contains(&origin.group)
            && *home.or_insert_with(|| origin.group.clone()) == origin.group
    }

    fn begin(&mut self, now: Mono, key: &Known, letter: &Letter) {
        let origin = letter.origin.clone();
        let Origin { life, began, clock, .. } = origin.clone();
        let taken = self.lives.values().any(|progress| progress.life == life);
        let latest = self.latest.entry(life.member.clone()).or_insert(life.incarnation);
        *latest = life.incarnation.max(*latest);
        let life = if taken {
            latest.0 = latest.0.saturating_add(1);
            Life { incarnation: *latest, ..life }
        } else {
            life
        };
        // The latest that the letter says is the nearest to what was compared.
        let near = letter.facts.last().map_or(began, |fact| fact.t).max(began);
        let placement = || {
            let found = self.clocks.translate(&clock, &self.here, near)?;
            Placement::begin(near, found, Duration::ZERO)
        };
        let (t, sight) = if clock == self.here {
            (began, Sight::Same)
        } else if let Some(placement) = placement() {
            (placement.place(began), Sight::by(placement))
        } else {
            (now, Sight::Unknown { since: None })
        };
        let (waiting, since) = (BTreeMap::new(), None);
        let (next, died, is_dead) = (1, None, false);
        let (heard, word) = (Heard::default(), None);
        let progress =
            Progress { life, origin, heard, word, sight, next, waiting, since, died, is_dead };
        self.due.push_back(progress.started(t));
        self.lives.insert(key.clone(), progress);
    }

    /// A life whose facts are complete is over when its witness says so.
    fn settle(&mut self, now: Mono, key: &Known) {
        let Some(progress) = self.lives.get_mut(key) else { return };
        let is_whole = progress.waiting.is_empty() && progress.word.is_none();
        let Some((died, said)) = progress.died.filter(|_| is_whole && !progress.is_dead) else {
            return;
        };
        let found = |at| self.clocks.translate(&key.3, &self.here, at);
        let given_up = progress.gives_up(now, said);
        let Some(t) = progress.sight.instant(died, found).or(given_up) else { return };
        progress.is_dead = true;
        let event = RunEvent::Died { signal: None, status: None };
        self.due.push_back(Collated::ByReader(t, progress.life.clone(), event));
        self.dead.push_back(key.clone());
        if self.dead.len() > DEAD_MAX
            && let Some(oldest) = self.dead.pop_front()
        {
            self.lives.remove(&oldest);
        }
    }
}

fn key(origin: &Origin) -> Known {
    let Origin { life, began, clock, .. } = origin;
    (life.member.clone(), life.incarnation, *began, clock.clone())
}

impl Progress {
    /// The reader's word that the life began, and how its instants look here.
    fn started(&self, t: Mono) -> Collated {
        let Origin { group, clock, pid, .. } = self.origin.clone();
        let (same_clock, error) = match &self.sight {
            Sight::Same => (true, None),
            Sight::Unknown { .. } => (false, None),
            Sight::Placed(placed) => (false, Some(placed.error())),
        };
        let error_ns = error.map(|error| u64::try_from(error.as_nanos()).unwrap_or(u64::MAX));
        let external = Some(External { group, clock, same_clock, error_ns });
        Collated::ByReader(t, self.life.clone(), RunEvent::Started { pid, external })
    }

    /// Looks whether the clock of a life that is unknown can be compared by now. The life begins
    /// anew then, with the first fact that can be placed.
    fn compare(
        &mut self,
        now: Mono,
        facts: &[Fact],
        found: impl Fn(Mono) -> Option<Elsewhere>,
        due: &mut VecDeque<Collated>,
    ) {
        let Sight::Unknown { since } = &mut self.sight else { return };
        let (Some(first), Some(last)) = (facts.first(), facts.last()) else { return };
        let Some(found) = found(last.t) else { return };
        let waited = now.since(*since.get_or_insert(now));
        let begun = Placement::begin(last.t, found, waited);
        let Some(placement) = begun.filter(|_| first.seq >= self.next) else { return };
        self.sight = Sight::by(placement);
        self.next = first.seq;
        due.push_back(self.started(placement.place(first.t)));
    }

    /// What an instant that cannot be placed is taken for: for now, if no instant of this life can
    /// be placed, or if it was waited for since then and that is long ago.
    fn gives_up(&self, now: Mono, since: Mono) -> Option<Mono> {
        let is_strange = matches!(self.sight, Sight::Unknown { .. });
        (is_strange || now.since(since) >= PLACES).then_some(now)
    }

    /// What its witness has made of orders, where that is new. It waits until it can be placed, if
    /// other instants of this life can be.
    fn hear(
        &mut self,
        now: Mono,
        found: impl Fn(Mono) -> Option<Elsewhere>,
        due: &mut VecDeque<Collated>,
    ) {
        let Some((since, orders)) = self.word.take().filter(|_| !self.is_dead) else { return };
        let given_up = self.gives_up(now, since);
        let Self { life, heard, sight, .. } = self;
        let here = |at| sight.instant(at, &found).or(given_up);
        let Some(news) = heard.hear(&orders, here, now) else {
            self.word = Some((since, orders));
            return;
        };
        due.extend(news.into_iter().map(|news| match news {
            News::Event(t, event) => Collated::ByReader(t, life.clone(), event),
            News::CutOff(t, off) => Collated::CutOff(t, life.clone(), off),
        }));
    }

    fn take(
        &mut self,
        now: Mono,
        (died, facts): (Option<Mono>, Vec<Fact>),
        found: impl Fn(Mono) -> Option<Elsewhere>,
        due: &mut VecDeque<Collated>,
    ) {
        self.died = self.died.or(died.map(|died| (died, now)));
        // Instants of another clock mean nothing here until it was compared.
        if let Sight::Unknown { .. } = self.sight {
            let last = facts.iter().map(|fact| fact.seq).max().unwrap_or(0);
            self.next = self.next.max(last.saturating_add(1));
            return;
        }
        for fact in facts.into_iter().filter(|fact| fact.seq >= self.next) {
            self.waiting.insert(fact.seq, fact);
        }
        self.release(&found, due);
        if self.waiting.is_empty() {
            self.since = None;
        } else {
            self.since.get_or_insert(now);
        }
        if self.waiting.len() > WAITING_MAX {
            self.skip(now, found, due);
        }
    }

    /// Passes on all that follows without a hole, and can be placed.
    fn release(
        &mut self,
        found: &impl Fn(Mono) -> Option<Elsewhere>,
        due: &mut VecDeque<Collated>,
    ) {
        while let Some(fact) = self.waiting.get(&self.next) {
            let seen = match &mut self.sight {
                Sight::Same => Some(fact.clone()),
                Sight::Unknown { .. } => None,
                Sight::Placed(placed) => placed.fact(fact, found),
            };
            let Some(fact) = seen else { return };
            self.waiting.remove(&self.next);
            self.next += 1;
            due.push_back(Collated::ByMember(Fact { life: Some(self.life.clone()), ..fact }));
        }
    }

    /// What is before the first that waits does not come any more; and what waits although nothing
    /// is missing before it cannot be placed.
    fn skip(
        &mut self,
        now: Mono,
        found: impl Fn(Mono) -> Option<Elsewhere>,
        due: &mut VecDeque<Collated>,
    ) {
        if let Some(first) = self.waiting.keys().next() {
            self.next = *first;
        }
        self.release(&found, due);
        if self.waiting.contains_key(&self.next)
            && let Some((last, _)) = std::mem::take(&mut self.waiting).pop_last()
        {
            self.next = last.saturating_add(1);
        }
        self.since = (!self.waiting.is_empty()).then_some(now);
    }
}
