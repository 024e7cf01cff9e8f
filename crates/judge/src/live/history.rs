//! Why gaps began, by the rule of the timeline, from the facts so far.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Event, Place};
use crate::roster::Roster;
use crate::timeline::{Cause, Interval, Troubles};
use tandem_facts::ids::GroupName;
use tandem_facts::observation::{Fact, RunEvent, What};
use tandem_facts::time::Mono;

/// Why a gap began, as far as known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reason {
    /// The cause at its first instant.
    pub cause: Cause,
    /// The longest stall of the host in it.
    pub stall: Option<Interval>,
}

/// How often old troubles are forgotten: to look for them takes a walk over all that died.
const FORGETS: Duration = Duration::from_secs(1);

/// The latest troubles and stalls, and the reasons of the gaps that go on.
#[derive(Debug, Clone)]
pub(super) struct History {
    troubles: Troubles,
    stalls: Vec<Interval>,
    open: BTreeMap<Place, (Mono, Reason)>,
    /// When old troubles were forgotten.
    dropped: Mono,
}

impl History {
    pub(super) fn new(roster: &Roster) -> Self {
        Self {
            troubles: Troubles::new(roster),
            stalls: Vec::new(),
            open: BTreeMap::new(),
            dropped: Mono::ZERO,
        }
    }

    /// Takes a fact, which may be about a life of `group`.
    pub(super) fn observe(&mut self, fact: &Fact, group: Option<&GroupName>) {
        if !fact.what.is_by_member() {
            self.troubles.observe(fact, group);
            if let What::Run(RunEvent::Stall { from, until, .. }) = fact.what {
                self.stalls.push(Interval::new(from, until));
            }
            return;
        }
        let Some(life) = &fact.life else { return };
        if let Some(group) = group {
            self.troubles.hear(life, group, fact);
        }
    }

    /// Gives the gaps among these events their reasons. Everything before `until` is final.
    pub(super) fn explain(&mut self, events: &mut [Event], until: Mono) {
        for event in events {
            if let Event::GapBegan(place, from, reason) = event {
                reason.cause = match &place.group {
                    Some(group) => self.troubles.cause(group, *from),
                    None => self.troubles.joint_cause(*from),
                };
                reason.stall = longest(&self.stalls, Interval::new(*from, until));
                self.open.insert(place.clone(), (*from, reason.clone()));
            } else if let Event::Gap(place, span, reason) = event
                && let Some((_, known)) = self.open.remove(place)
            {
                let late = longest(&self.stalls, *span);
                *reason =
                    Reason { stall: longest(known.stall.iter().chain(&late), *span), ..known };
            }
        }
        for (from, reason) in self.open.values_mut() {
            let so_far = Interval::new(*from, until);
            let late = longest(&self.stalls, so_far);
            reason.stall = longest(reason.stall.iter().chain(&late), so_far);
        }
        if until.since(self.dropped) >= FORGETS {
            self.dropped = until;
            self.troubles.drop_before(until);
        }
        self.stalls.retain(|stall| stall.until > until);
    }
}

/// The longest of these stalls that has an instant of `span`.
fn longest<'a>(stalls: impl IntoIterator<Item = &'a Interval>, span: Interval) -> Option<Interval> {
    let here = stalls.into_iter().filter(|stall| !stall.intersect(span).is_empty());
    here.copied().max_by_key(|stall| stall.length())
}
