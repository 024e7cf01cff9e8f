//! The members that Tandem did not start, as far as experiments may hit them: a slot each, which
//! follows their facts, and signals their processes by orders to their witnesses.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use rustix::process::Signal;

use super::slot::{Phase, Slot, lock};
use crate::external::{Deed, Dispatch, OrdersError, Origin, order_key};
use crate::ids::{ClusterName, GroupName, Life, MemberId};
use crate::kafka::Cluster;
use crate::observation::RunEvent;
use crate::time::Mono;
use crate::topology::{Plan, PlannedGroup};

/// The members of the groups that take orders.
#[derive(Default)]
pub struct Outside {
    dispatch: OnceLock<Arc<Dispatch>>,
    seats: Mutex<BTreeMap<MemberId, (GroupName, Arc<Slot>)>>,
}

/// How the process of a life is signalled that Tandem did not start.
#[derive(Clone)]
pub(super) struct Far {
    origin: Origin,
    dispatch: Arc<Dispatch>,
}

impl Far {
    /// Orders what the signal does.
    ///
    /// # Errors
    /// There is no order for it, or it cannot be sent.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let deed = match signal {
            Signal::KILL => Deed::Kill,
            Signal::TERM => Deed::Leave,
            Signal::STOP => Deed::Pause,
            Signal::CONT => Deed::Continue,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        self.order(deed)
    }

    /// Orders it.
    ///
    /// # Errors
    /// It cannot be sent.
    pub(super) fn order(&self, deed: Deed) -> io::Result<()> {
        self.dispatch.order(&self.origin, deed)
    }
}

impl Outside {
    /// From now on orders can be given to the members of `plan`, on these clusters, if any group of
    /// it takes orders.
    pub fn connect(&self, plan: &Plan, clusters: &BTreeMap<ClusterName, Cluster>) {
        let Some(topic) = plan.orders_topic() else { return };
        let key = order_key(&plan.topology, plan.order_key.as_ref());
        let of = (&plan.topology, &topic);
        match key.and_then(|key| Dispatch::start(clusters, of, key).map_err(OrdersError::Thread)) {
            // It is called once.
            Ok(dispatch) => drop(self.dispatch.set(dispatch)),
            Err(error) => {
                let error = crate::error::chain(&error);
                tracing::error!(error, "Experiments cannot hit members that others started.");
            }
        }
    }

    /// Takes what was recorded of a life that its witness knows as `origin`.
    pub fn observe(&self, plan: &Plan, t: Mono, life: &Life, event: &RunEvent, origin: &Origin) {
        let takes = plan.groups.get(&origin.group).is_some_and(PlannedGroup::takes_orders);
        let Some(dispatch) = self.dispatch.get().filter(|_| takes) else { return };
        let mut seats = lock(&self.seats);
        let new = || {
            let slot = Slot::new(life.member.clone(), false);
            (origin.group.clone(), Arc::new(slot))
        };
        let (_, slot) = seats.entry(life.member.clone()).or_insert_with(new);
        if let RunEvent::Started { .. } = event {
            let far = Far { origin: origin.clone(), dispatch: Arc::clone(dispatch) };
            // A late letter may be of an earlier life.
            if slot.state().incarnation <= life.incarnation {
                slot.born_outside(t, life.incarnation, far);
            }
            return;
        }
        let phase = if let RunEvent::Died { .. } = event {
            Phase::Absent
        } else if *event == RunEvent::Stopped {
            Phase::Stopped
        } else if *event == RunEvent::Continued {
            Phase::Running
        } else {
            return;
        };
        if slot.state().incarnation == life.incarnation {
            slot.turn(t, phase);
        }
    }

    /// An order has cut this life off from its brokers at `t`, or it reaches them again.
    pub fn cut_off(&self, life: &Life, t: Mono, off: bool) {
        let slot = self.slot(&life.member);
        if let Some(slot) = slot.filter(|slot| slot.state().incarnation == life.incarnation) {
            slot.cut_off(off.then_some(t));
        }
    }

    /// The slot of a member, if it takes orders.
    #[must_use]
    pub fn slot(&self, member: &MemberId) -> Option<Arc<Slot>> {
        lock(&self.seats).get(member).map(|(_, slot)| Arc::clone(slot))
    }

    /// The members that take orders and live, by group.
    #[must_use]
    pub fn living(&self) -> BTreeMap<GroupName, Vec<MemberId>> {
        let mut living = BTreeMap::<_, Vec<_>>::new();
        for (member, (group, slot)) in &*lock(&self.seats) {
            if slot.state().phase != Phase::Absent {
                living.entry(group.clone()).or_default().push(member.clone());
            }
        }
        living
    }

    /// Undoes all that orders still hold.
    pub fn release(&self) {
        if let Some(dispatch) = self.dispatch.get() {
            dispatch.release();
        }
    }
}
