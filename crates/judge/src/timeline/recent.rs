//! The facts of the current trial and shortly before: enough to judge that trial alone while the
//! run goes on, at a cost that does not grow with the run.
//!
//! Later facts repeat what an old claim, stop or tick says about the present: all claims are
//! reported every 100 ms, and a trial begins with every group settled. So facts from before the
//! longest claim that can still hold may be dropped. The remaining facts are renumbered for each
//! author, so that a missing number is still a lost fact.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tandem_facts::ids::Life;
use tandem_facts::observation::{Fact, MemberEvent, RunEvent, What};
use tandem_facts::time::Mono;

/// The facts of the current trial and shortly before.
#[derive(Debug, Clone)]
pub struct Recent {
    margin: Duration,
    /// Members by life; the controller has none.
    authors: BTreeMap<Option<Life>, Author>,
}

#[derive(Debug, Clone)]
struct Author {
    facts: VecDeque<Fact>,
    /// The number of the last dropped fact.
    gone: u64,
    /// Whether the author had claims in its latest report of claims, and did not die.
    claims: bool,
    dead: bool,
    heard: Mono,
}

impl Author {
    fn new() -> Self {
        Self { facts: VecDeque::new(), gone: 0, claims: false, dead: false, heard: Mono::ZERO }
    }
}

impl Recent {
    /// Keeps facts from `margin` before the requested time on: longer than any claim outlives its
    /// last renewal.
    #[must_use]
    pub fn new(margin: Duration) -> Self {
        Self { margin, authors: BTreeMap::new() }
    }

    /// Takes a fact, in the order of arrival.
    pub fn observe(&mut self, fact: &Fact) {
        let died =
            fact.life.as_ref().filter(|_| matches!(fact.what, What::Run(RunEvent::Died { .. })));
        if let Some(dead) = died.and_then(|life| self.authors.get_mut(&Some(life.clone()))) {
            (dead.claims, dead.dead) = (false, true);
        }
        let author = if fact.what.is_by_member() { fact.life.clone() } else { None };
        let author = self.authors.entry(author).or_insert_with(Author::new);
        if let What::Member(MemberEvent::Renewed { claims }) = &fact.what {
            author.claims = !claims.is_empty();
        } else if matches!(
            fact.what,
            What::Member(MemberEvent::Claimed { .. } | MemberEvent::Leaving)
        ) {
            author.claims = matches!(fact.what, What::Member(MemberEvent::Claimed { .. }));
        }
        author.heard = author.heard.max(fact.t);
        author.facts.push_back(fact.clone());
    }

    /// Whether every life with claims has reported since `at`.
    #[must_use]
    pub fn is_heard_since(&self, at: Mono) -> bool {
        self.authors.values().all(|author| !author.claims || author.heard >= at)
    }

    /// All stored facts.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        let renumbered = |author: &Author| {
            let gone = author.gone;
            let anew = move |fact: &Fact| Fact { seq: fact.seq - gone, ..fact.clone() };
            author.facts.iter().map(anew).collect::<Vec<_>>()
        };
        self.authors.values().flat_map(renumbered).collect()
    }

    /// The number of stored facts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.authors.values().map(|author| author.facts.len()).sum()
    }

    /// Whether no facts are stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops facts that no trial from `at` on needs.
    pub fn forget_before(&mut self, at: Mono) {
        let margin = u64::try_from(self.margin.as_nanos()).unwrap_or(u64::MAX);
        let from = Mono(at.0.saturating_sub(margin));
        for author in self.authors.values_mut() {
            while let Some(fact) = author.facts.pop_front_if(|fact| fact.t < from) {
                author.gone = author.gone.max(fact.seq);
            }
        }
        self.authors.retain(|_, author| !author.dead || !author.facts.is_empty());
    }
}
