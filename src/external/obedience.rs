//! Which orders a witness carries out, and for how long. Pure.
//!
//! ```text
//!  orders topics -- handle_record --> +-----------+ ---- poll ---------> signals
//!  time ----------- handle_timeout -> | Obedience | ---- poll_timeout -> time
//!                                     +-----------+
//! ```
//!
//! An order travels on every cluster, so each cluster may show it once. It must be sealed, be for
//! this life, be new, and not have expired. A pause is a lease, and so is a cut: it ends by itself
//! when no order renews it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::{Deed, Nonce, Order, OrderKey};
use crate::ids::{ClusterName, Life, TopologyName};
use crate::observation::RefusedOrders;
use crate::time::{Mono, Wall};

/// How long a pause or a cut lasts that is not renewed.
pub const LEASE: Duration = Duration::from_secs(3);
/// An order that would be valid for longer is refused, in milliseconds: it would have to be
/// remembered for so long.
const VALID_MAX_MS: i64 = 30_000;
/// For how long an order is remembered after it has expired, in milliseconds: a cluster that was
/// cut off may still show it.
const REMEMBERED_MS: i64 = 60_000;
/// The most orders that are remembered.
const SEEN_MAX: usize = 1_024;

/// What is to be done to the member now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// SIGKILL.
    Kill,
    /// SIGTERM.
    Leave,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Continue,
    /// Lose its traffic with its brokers.
    Cut,
    /// Let it pass again.
    Mend,
}

/// All orders so far.
#[derive(Debug)]
pub struct Obedience {
    topology: TopologyName,
    life: Life,
    began: Mono,
    key: OrderKey,
    /// The latest time that the wall clock has shown: set back, it makes no order new again.
    latest: Wall,
    /// When each order expires, and which clusters have shown it.
    seen: BTreeMap<Nonce, (Wall, BTreeSet<ClusterName>)>,
    taken: u64,
    refused: RefusedOrders,
    /// Until when the member is paused, if it is.
    paused: Option<Mono>,
    /// Until when it is cut off, if it is.
    cut: Option<Mono>,
    due: VecDeque<Act>,
}

impl Obedience {
    /// No order has come. Those for this life are obeyed, if the key has sealed them.
    #[must_use]
    pub fn new(topology: TopologyName, life: Life, began: Mono, key: OrderKey) -> Self {
        let (seen, due, refused) = (BTreeMap::new(), VecDeque::new(), RefusedOrders::default());
        let (latest, taken, paused, cut) = (Wall(i64::MIN), 0, None, None);
        Self { topology, life, began, key, latest, seen, taken, refused, paused, cut, due }
    }

    /// A cluster shows a record of the orders topic.
    pub fn handle_record(&mut self, now: Mono, wall: Wall, by: &ClusterName, record: &[u8]) {
        self.handle_timeout(now);
        self.latest = self.latest.max(wall);
        let order = Order::read(record);
        let of_another = |order: &Order| {
            order.topology != self.topology || order.life.member != self.life.member
        };
        if order.as_ref().is_some_and(of_another) {
            return;
        }
        let Some(order) = order.filter(|_| self.key.has_sealed(record)) else {
            count(&mut self.refused.forged);
            return;
        };
        if order.life != self.life || order.began != self.began {
            count(&mut self.refused.misdirected);
        } else if self.is_new(&order, by) {
            count(&mut self.taken);
            self.obey(now, order.deed);
        }
    }

    /// Time passes: what was not renewed is over.
    pub fn handle_timeout(&mut self, now: Mono) {
        if self.paused.is_some_and(|until| now >= until) {
            self.wake();
        }
        if self.cut.is_some_and(|until| now >= until) {
            self.mend();
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called next, if ever.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        self.paused.into_iter().chain(self.cut).min()
    }

    /// What is to be done next, if anything is.
    pub fn poll(&mut self) -> Option<Act> {
        self.due.pop_front()
    }

    /// How many orders were taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// How many orders were refused, by reason.
    #[must_use]
    pub fn refused(&self) -> RefusedOrders {
        self.refused
    }

    /// Whether the order has not come before, on any cluster, and comes in time; counts why not.
    fn is_new(&mut self, order: &Order, by: &ClusterName) -> bool {
        let latest = self.latest;
        self.seen.retain(|_, (expires, _)| expires.0.saturating_add(REMEMBERED_MS) > latest.0);
        if let Some((_, shown)) = self.seen.get_mut(&order.nonce) {
            if !shown.insert(by.clone()) {
                count(&mut self.refused.replayed);
            }
            return false;
        }
        let valid_ms = order.expires.0.saturating_sub(latest.0);
        let refused = if valid_ms <= 0 || valid_ms > VALID_MAX_MS {
            &mut self.refused.expired
        } else if self.seen.len() >= SEEN_MAX {
            &mut self.refused.crowded
        } else {
            self.seen.insert(order.nonce.clone(), (order.expires, BTreeSet::from([by.clone()])));
            return true;
        };
        count(refused);
        false
    }

    fn obey(&mut self, now: Mono, deed: Deed) {
        match deed {
            Deed::Kill => {
                (self.paused, self.cut) = (None, None);
                self.due.push_back(Act::Kill);
            }
            Deed::Leave => {
                if self.paused.is_some() {
                    self.wake();
                }
                self.due.push_back(Act::Leave);
            }
            Deed::Pause => {
                if self.paused.replace(now + LEASE).is_none() {
                    self.due.push_back(Act::Stop);
                }
            }
            Deed::Hold => {
                for until in [&mut self.paused, &mut self.cut].into_iter().flatten() {
                    *until = now + LEASE;
                }
            }
            Deed::Continue => self.wake(),
            Deed::Cut => {
                if self.cut.replace(now + LEASE).is_none() {
                    self.due.push_back(Act::Cut);
                }
            }
            Deed::Mend => self.mend(),
        }
    }

    fn wake(&mut self) {
        self.paused = None;
        self.due.push_back(Act::Continue);
    }

    fn mend(&mut self) {
        if self.cut.take().is_some() {
            self.due.push_back(Act::Mend);
        }
    }
}

fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}
