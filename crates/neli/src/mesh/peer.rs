//! Another member, as this one knows it.

use std::collections::BTreeSet;
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

use super::inquest::AGAIN;
use super::{LinkId, Share, earliest};
use crate::Statement;

/// The first wait after a failed dial; it doubles.
const REDIAL: Duration = Duration::from_millis(50);
/// The longest wait between two dials.
const REDIAL_MOST: Duration = Duration::from_secs(2);

/// One life of another member.
#[derive(Debug)]
pub(super) struct Peer {
    /// Its last assignment.
    pub(super) share: Option<Share>,
    /// What it leads by that assignment, as it last stated.
    pub(super) leads: BTreeSet<PartitionId>,
    /// The first generation in which it is known to have been given anything or nothing.
    pub(super) since: Option<i32>,
    /// The generation that it last stated on a link.
    said: Option<i32>,
    pub(super) address: Option<String>,
    pub(super) going: bool,
    pub(super) state: State,
    /// When it last stated anything, or was linked.
    pub(super) known: Mono,
    pub(super) link: Option<Link>,
    pub(super) dial: Dial,
    /// When it was last suspected.
    pub(super) suspected: Option<Mono>,
    /// When it was last found to live after all.
    pub(super) wronged: Option<Mono>,
}

/// Whether a member lives, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Here,
    /// It said goodbye.
    Left(Mono),
    /// A tombstone.
    Dead(Mono),
}

/// An open connection to a member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) id: LinkId,
    /// When it last spoke itself.
    pub(super) heard: Mono,
    /// When it was last asked whether it is alive.
    pub(super) asked: Mono,
    /// When it last spoke, or the ledger spoke for it.
    pub(super) spoke: Mono,
    /// Whether it has spoken since it was last suspected or vouched for.
    pub(super) armed: bool,
    /// Whether it is suspected now.
    pub(super) suspect: bool,
    /// Others say that it is dead: if it has said nothing by then, it is.
    pub(super) doubt: Option<Mono>,
}

/// The attempts to connect to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dial {
    /// None is due.
    Idle,
    /// The next is due then; the wait after it, and how many follow, if they are counted.
    Due { at: Mono, wait: Duration, left: Option<u32> },
    /// One is under way.
    Underway { wait: Duration, left: Option<u32> },
}

impl Link {
    /// One that stands since now.
    pub(super) const fn new(now: Mono, id: LinkId) -> Self {
        let (heard, asked, spoke) = (now, now, now);
        Self { id, heard, asked, spoke, armed: true, suspect: false, doubt: None }
    }
}

impl Peer {
    pub(super) const fn new(now: Mono) -> Self {
        Self {
            share: None,
            leads: BTreeSet::new(),
            since: None,
            said: None,
            address: None,
            going: false,
            state: State::Here,
            known: now,
            link: None,
            dial: Dial::Idle,
            suspected: None,
            wronged: None,
        }
    }

    /// Adds what is known of its assignment; true if that is news. Statements of one generation
    /// differ only by revocations, which take nothing from a share.
    pub(super) fn learn(&mut self, share: &Share) -> bool {
        self.since = earliest(self.since, share.generation);
        match &mut self.share {
            Some(known) if known.generation > share.generation => false,
            Some(known) if known.generation == share.generation => {
                let before = known.partitions.len();
                known.partitions.extend(&share.partitions);
                known.partitions.len() > before
            }
            Some(_) | None => {
                self.share = Some(share.clone());
                true
            }
        }
    }

    /// Takes over a statement that it made itself. Statements on links, `in_order`, never overtake
    /// each other: an earlier generation than the one before is that of a coordinator that lost
    /// its groups. The ledger and notices may have said more before the link does.
    pub(super) fn state(&mut self, now: Mono, statement: &Statement, in_order: bool) -> bool {
        let share = Share { generation: statement.generation, partitions: statement.holds.clone() };
        if in_order && self.said.replace(share.generation) > Some(share.generation) {
            self.share = None;
        }
        if self.state == State::Here {
            self.known = now;
            self.going = statement.going;
            if statement.address.is_some() {
                self.address.clone_from(&statement.address);
            }
        }
        let news = self.learn(&share);
        if self.share.as_ref().is_some_and(|last| last.generation == share.generation) {
            self.leads.clone_from(&statement.leads);
        }
        news
    }

    /// Whether it is there and leads `partition` in a later generation than `generation`.
    pub(super) fn leads_since(&self, generation: i32, partition: PartitionId) -> bool {
        let later = self.share.as_ref().is_some_and(|share| share.generation > generation);
        later && self.state == State::Here && self.leads.contains(&partition)
    }

    /// Whether it can stand in for others.
    pub(super) fn is_living(&self) -> bool {
        let linked = self.link.is_some_and(|link| !link.suspect);
        linked && self.state == State::Here && !self.going && self.share.is_some()
    }

    /// Dials now, and again after each failure; `left` bounds the further attempts.
    pub(super) fn dial(&mut self, now: Mono, left: Option<u32>) {
        if self.address.is_some() && self.link.is_none() && self.dial == Dial::Idle {
            let at = self.wronged.map_or(now, |wronged| now.max(wronged + AGAIN));
            self.dial = Dial::Due { at, wait: REDIAL, left };
        }
    }

    /// Whether it was found to live after all less than `within` ago.
    pub(super) fn was_wronged(&self, now: Mono, within: Duration) -> bool {
        self.wronged.is_some_and(|wronged| now.since(wronged) < within)
    }

    /// The dial under way failed.
    pub(super) fn undialed(&mut self, now: Mono) {
        let Dial::Underway { wait, left } = self.dial else { return };
        self.dial = match left {
            Some(0) => Dial::Idle,
            Some(_) | None => Dial::Due {
                at: now + wait,
                wait: (wait * 2).min(REDIAL_MOST),
                left: left.map(|left| left.saturating_sub(1)),
            },
        };
    }

    /// The address to dial, if a dial is due; it is then under way.
    pub(super) fn take_dial(&mut self, now: Mono) -> Option<String> {
        let Dial::Due { at, wait, left } = self.dial else { return None };
        if at > now {
            return None;
        }
        self.dial = Dial::Underway { wait, left };
        self.address.clone()
    }
}
