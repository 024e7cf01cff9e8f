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

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::{Letter, Origin};
use crate::ids::{GroupName, Incarnation, Life, MemberId};
use crate::observation::{ClockDomain, External, Fact, What};
use crate::time::Mono;

/// How long a fact waits for those before it.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// The most facts of one life that wait.
const WAITING_MAX: usize = 10_000;
/// The most lives that are remembered after their deaths.
const DEAD_MAX: usize = 1_000;

/// What is to be recorded next.
#[derive(Debug, Clone, PartialEq)]
pub enum Collated {
    /// The reader's own word about a life.
    ByReader(Mono, Life, What),
    /// A fact of a member.
    ByMember(Fact),
}

/// All letters so far.
#[derive(Debug)]
pub struct Collation {
    /// The groups whose members Tandem does not start.
    groups: BTreeSet<GroupName>,
    here: ClockDomain,
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
    same_clock: bool,
    /// The number of its next fact.
    next: u64,
    waiting: BTreeMap<u64, Fact>,
    /// Since when something waits.
    since: Option<Mono>,
    died: Option<Mono>,
    is_dead: bool,
}

impl Collation {
    /// Nothing was read yet. The members of these groups report what they do; `here` is the clock
    /// of this process.
    #[must_use]
    pub fn new(groups: BTreeSet<GroupName>, here: ClockDomain) -> Self {
        let (lives, homes, latest) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (dead, due) = (VecDeque::new(), VecDeque::new());
        Self { groups, here, lives, homes, latest, dead, due, refused: 0 }
    }

    /// Takes a letter, from any cluster.
    pub fn handle_letter(&mut self, now: Mono, letter: Letter) {
        let Letter { origin, died, facts } = letter;
        if !self.admits(&origin) {
            self.refused = self.refused.saturating_add(1);
            return;
        }
        let key = key(&origin);
        if !self.lives.contains_key(&key) {
            self.begin(now, &key, origin);
        }
        let Some(progress) = self.lives.get_mut(&key) else { return };
        progress.take(now, facts, died, &mut self.due);
        self.settle(now, &key);
    }

    /// Time passes: what was waited for in vain is missing.
    pub fn handle_timeout(&mut self, now: Mono) {
        let waits =
            |progress: &Progress| progress.since.is_some_and(|since| now.since(since) >= PATIENCE);
        let late =
            self.lives.iter().filter(|(_, progress)| waits(progress)).map(|(key, _)| key.clone());
        for key in late.collect::<Vec<_>>() {
            if let Some(progress) = self.lives.get_mut(&key) {
                progress.skip(now, &mut self.due);
            }
            self.settle(now, &key);
        }
    }

    /// What is to be recorded next, if anything is.
    pub fn poll(&mut self) -> Option<Collated> {
        self.due.pop_front()
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

    fn begin(&mut self, now: Mono, key: &Known, origin: Origin) {
        let Origin { group, life, pid, began, clock } = origin;
        let taken = self.lives.values().any(|progress| progress.life == life);
        let latest = self.latest.entry(life.member.clone()).or_insert(life.incarnation);
        *latest = life.incarnation.max(*latest);
        let life = if taken {
            latest.0 = latest.0.saturating_add(1);
            Life { incarnation: *latest, ..life }
        } else {
            life
        };
        let same_clock = clock == self.here;
        let t = if same_clock { began } else { now };
        let external = Some(External { group, clock, same_clock });
        let what = What::Started { pid, external };
        self.due.push_back(Collated::ByReader(t, life.clone(), what));
        let (waiting, since) = (BTreeMap::new(), None);
        let (next, died, is_dead) = (1, None, false);
        self.lives.insert(
            key.clone(),
            Progress { life, same_clock, next, waiting, since, died, is_dead },
        );
    }

    /// A life whose facts are complete is over when its witness says so.
    fn settle(&mut self, now: Mono, key: &Known) {
        let Some(progress) = self.lives.get_mut(key) else { return };
        let Some(died) = progress.died.filter(|_| progress.waiting.is_empty() && !progress.is_dead)
        else {
            return;
        };
        progress.is_dead = true;
        let t = if progress.same_clock { died } else { now };
        let what = What::Died { signal: None, status: None };
        self.due.push_back(Collated::ByReader(t, progress.life.clone(), what));
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
    fn take(
        &mut self,
        now: Mono,
        facts: Vec<Fact>,
        died: Option<Mono>,
        due: &mut VecDeque<Collated>,
    ) {
        self.died = self.died.or(died);
        // Instants of another clock mean nothing here.
        if !self.same_clock {
            return;
        }
        for fact in facts.into_iter().filter(|fact| fact.seq >= self.next) {
            self.waiting.insert(fact.seq, fact);
        }
        self.release(due);
        if self.waiting.is_empty() {
            self.since = None;
        } else {
            self.since.get_or_insert(now);
        }
        if self.waiting.len() > WAITING_MAX {
            self.skip(now, due);
        }
    }

    /// Passes on all that follows without a hole.
    fn release(&mut self, due: &mut VecDeque<Collated>) {
        while let Some(fact) = self.waiting.remove(&self.next) {
            self.next += 1;
            due.push_back(Collated::ByMember(Fact { life: Some(self.life.clone()), ..fact }));
        }
    }

    /// What is before the first that waits does not come any more.
    fn skip(&mut self, now: Mono, due: &mut VecDeque<Collated>) {
        if let Some(first) = self.waiting.keys().next() {
            self.next = *first;
        }
        self.release(due);
        self.since = (!self.waiting.is_empty()).then_some(now);
    }
}
