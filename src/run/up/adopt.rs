//! Which supervisor a `tandem up` finds again.

use super::Found;
use crate::supervision::Phase;
use crate::topology::Plan;

/// A supervisor that runs already.
#[derive(Debug, Clone)]
pub struct Adopted {
    /// The supervisor.
    pub found: Found,
    /// Take the place of a `tandem up` that watches it.
    pub replace: bool,
}

/// What a `tandem up` does about the supervisors that run.
#[derive(Debug)]
pub enum Choice {
    /// None of them is for it: it starts another.
    None,
    /// It watches this one.
    Adopt(Box<Adopted>),
    /// This one is starting or ending: it looks again when that is done.
    Wait(Box<Found>),
    /// This one keeps the topology up as another plan, and nobody watches it.
    Other(Box<Found>),
}

/// Chooses among the supervisors that were `found` for a `tandem up` of `plan`. It watches one that
/// nobody watches; with `replace` also one that is watched.
#[must_use]
pub fn choose(plan: &Plan, found: Vec<Found>, replace: bool) -> Choice {
    let is_for_it = |one: &Found| {
        let about = &one.about;
        let free = replace || about.watched_by.is_empty() || about.phase == Phase::Stopping;
        about.header.plan.topology == plan.topology && free
    };
    let mut found: Vec<Found> = found.into_iter().filter(is_for_it).collect();
    let is_same = |one: &Found| one.about.header.plan == *plan;
    let at = |wanted: &dyn Fn(&Found) -> bool| found.iter().position(wanted);
    let adopted = at(&|one| one.about.phase == Phase::Up && is_same(one));
    let unready = at(&|one| match one.about.phase {
        Phase::Up => false,
        Phase::Starting => is_same(one),
        Phase::Stopping => true,
    });
    if let Some(at) = adopted {
        return Choice::Adopt(Box::new(Adopted { found: found.swap_remove(at), replace }));
    }
    if let Some(at) = unready {
        return Choice::Wait(Box::new(found.swap_remove(at)));
    }
    found.pop().map_or(Choice::None, |other| Choice::Other(Box::new(other)))
}
