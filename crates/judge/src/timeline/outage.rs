//! When brokers were lost, and when members could not reach theirs.

use std::collections::BTreeMap;

use super::Interval;
use super::life::END;
use tandem_facts::observation::{Fact, MemberEvent, RunEvent, What};
use tandem_facts::time::Mono;

/// A time in which a broker was lost, or a member could not reach its brokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// A life, as in `p1-1.2`, or a broker, as in `broker 1 at h:9092 of cluster a`.
    pub subject: String,
    /// The error of the member's client.
    pub why: Option<String>,
    /// The time; without an end if that was not observed.
    pub span: Interval,
}

/// All outages, in the order of their starts.
pub(super) fn outages<'a>(facts: impl Iterator<Item = &'a Fact>) -> Vec<Outage> {
    let mut facts: Vec<&Fact> = facts.filter(|fact| concerns(fact)).collect();
    facts.sort_by_key(|fact| fact.t);
    let mut open: BTreeMap<String, Outage> = BTreeMap::new();
    let mut all = Vec::new();
    for fact in facts {
        let subject = subject(fact);
        if let Some(mut outage) = open.remove(&subject) {
            outage.span.until = fact.t;
            all.push(outage);
        }
        let why = if let What::Member(MemberEvent::Unconnected { why }) = &fact.what {
            Some(why.clone())
        } else {
            None
        };
        if why.is_some() || matches!(fact.what, What::Run(RunEvent::BrokerLost { .. })) {
            let span = Interval::new(fact.t, END);
            open.insert(subject.clone(), Outage { subject, why, span });
        }
    }
    all.extend(open.into_values());
    all.sort_by_key(|outage| outage.span);
    all
}

/// The broker or life that a fact is about.
fn subject(fact: &Fact) -> String {
    if let What::Run(
        RunEvent::BrokerLost { cluster, broker } | RunEvent::BrokerBack { cluster, broker },
    ) = &fact.what
    {
        return format!("broker {broker} of cluster {cluster}");
    }
    fact.life.as_ref().map_or_else(String::new, ToString::to_string)
}

/// Whether a fact starts or ends an outage.
pub(super) fn concerns(fact: &Fact) -> bool {
    matches!(
        fact.what,
        What::Member(MemberEvent::Unconnected { .. } | MemberEvent::Connected)
            | What::Run(
                RunEvent::Died { .. } | RunEvent::BrokerLost { .. } | RunEvent::BrokerBack { .. }
            )
    )
}

impl Outage {
    /// Whether the outage goes on, as far as known.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.span.until == END
    }

    /// How long it lasted, at most until `end`.
    #[must_use]
    pub fn lasted(&self, end: Mono) -> std::time::Duration {
        self.span.until.min(end).since(self.span.from)
    }
}
