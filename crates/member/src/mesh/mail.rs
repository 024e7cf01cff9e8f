//! What the thread of the mesh and the member's loop hand to each other. All of it is bounded: by
//! the number of partitions, or by [`STATED_MOST`].

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::kafka::Bell;
use tandem_facts::ids::PartitionId;
use tandem_neli::Statement;
use tandem_neli::mesh::{Inquest, Order};

/// The most statements that wait in one direction; the oldest go, since the ledger repeats them.
const STATED_MOST: usize = 1_024;

/// What waits for the mesh.
#[derive(Default)]
pub(super) struct Letters {
    /// What the member states about itself now, if that has changed.
    pub(super) own: Option<Statement>,
    /// What others stated on the ledger.
    pub(super) ledger: VecDeque<Statement>,
    /// Whether the member leaves.
    pub(super) leaves: bool,
}

/// What waits for the member's loop.
#[derive(Default)]
pub(crate) struct News {
    /// What others stated on their links.
    pub(crate) stated: VecDeque<Statement>,
    /// The last order for each partition.
    pub(crate) orders: BTreeMap<PartitionId, Order>,
    /// What it asks and answers on the ledger now, if that has changed.
    pub(crate) inquest: Option<Inquest>,
}

/// Both directions.
pub(super) struct Mail {
    /// Wakes the mesh.
    waker: OwnedFd,
    /// Wakes the member's loop.
    bell: Arc<Bell>,
    boxes: Mutex<(Letters, News)>,
}

impl Mail {
    pub(super) fn new(bell: Arc<Bell>) -> std::io::Result<Self> {
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { waker, bell, boxes: Mutex::default() })
    }

    fn boxes(&self) -> MutexGuard<'_, (Letters, News)> {
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // A counter that is full wakes as well.
        rustix::io::write(&self.waker, &1_u64.to_ne_bytes()).ok();
    }

    /// To the mesh: what the member states about itself now.
    pub(super) fn post_own(&self, statement: Statement) {
        self.boxes().0.own = Some(statement);
        self.wake();
    }

    /// To the mesh: what another one stated on the ledger.
    pub(super) fn post_ledger(&self, statement: Statement) {
        push(&mut self.boxes().0.ledger, statement);
        self.wake();
    }

    /// To the mesh: the member leaves.
    pub(super) fn post_leave(&self) {
        self.boxes().0.leaves = true;
        self.wake();
    }

    /// Becomes readable with each letter.
    pub(super) fn waker(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }

    pub(super) fn letters(&self) -> Letters {
        rustix::io::read(&self.waker, &mut [0_u8; 8]).ok();
        std::mem::take(&mut self.boxes().0)
    }

    /// To the member's loop.
    pub(super) fn order(&self, order: Order) {
        let partition = match &order {
            Order::Stand(stand_in) => stand_in.partition,
            Order::End { partition } => *partition,
        };
        self.boxes().1.orders.insert(partition, order);
        self.bell.ring();
    }

    /// To the member's loop: what it asks and answers on the ledger now.
    pub(super) fn inquire(&self, inquest: Inquest) {
        self.boxes().1.inquest = Some(inquest);
        self.bell.ring();
    }

    /// To the member's loop: what another one stated on its link.
    pub(super) fn state(&self, statement: Statement) {
        push(&mut self.boxes().1.stated, statement);
        self.bell.ring();
    }

    pub(super) fn news(&self) -> News {
        std::mem::take(&mut self.boxes().1)
    }
}

fn push(statements: &mut VecDeque<Statement>, statement: Statement) {
    if statements.len() >= STATED_MOST {
        statements.pop_front();
    }
    statements.push_back(statement);
}
