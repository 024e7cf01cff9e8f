//! Who leads which partition, as the members of a group state themselves.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tandem_facts::ids::{Life, PartitionId};
use tandem_facts::time::Mono;
use tandem_neli::Statement;

/// A member that leads, as it stated itself last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    /// The member, and which of its lives.
    pub life: Life,
    /// Where it offers its service, if it advertises that.
    pub address: Option<String>,
}

#[derive(Debug)]
struct Known {
    leader: Leader,
    generation: i32,
    stated: Mono,
}

/// The leaders of one group.
#[derive(Debug)]
pub(crate) struct Leaders {
    /// How long a statement counts, as long as the claims of which it speaks.
    threshold: Duration,
    known: Mutex<BTreeMap<PartitionId, Known>>,
}

impl Leaders {
    pub(crate) const fn new(threshold: Duration) -> Self {
        Self { threshold, known: Mutex::new(BTreeMap::new()) }
    }

    /// A member of the group stated this, and offers its service at `address`.
    pub(crate) fn state(&self, now: Mono, statement: &Statement, address: Option<&str>) {
        let Statement { life, generation, leads, .. } = statement;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|on, known| known.leader.life != *life || leads.contains(on));
        for on in leads {
            // Of a former owner, a statement may be late.
            let counts = |known: &Known| {
                known.generation > *generation && now.since(known.stated) < self.threshold
            };
            let before = known.get(on);
            if !before.is_some_and(counts) {
                // A life never changes its address, and a statement on a link has none.
                let same = before.filter(|known| known.leader.life == *life);
                let address = address.map(str::to_owned);
                let address = address.or_else(|| same?.leader.address.clone());
                let leader = Leader { life: life.clone(), address };
                known.insert(*on, Known { leader, generation: *generation, stated: now });
            }
        }
    }

    /// Who led `partition` by the last statement, if that still counts.
    pub(crate) fn of(&self, now: Mono, partition: PartitionId) -> Option<Leader> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&partition);
        let found = found.filter(|known| now.since(known.stated) < self.threshold);
        found.map(|known| known.leader.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: PartitionId = PartitionId(0);

    fn statement(life: &str, generation: i32, leads: &[PartitionId]) -> Statement {
        Statement {
            group: "g".parse().unwrap(),
            life: Life::try_from(life.to_owned()).unwrap(),
            process: 1,
            generation,
            holds: leads.iter().copied().collect(),
            leads: leads.iter().copied().collect(),
            going: false,
            address: None,
            inquest: tandem_neli::mesh::Inquest::default(),
        }
    }

    fn at(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    #[test]
    fn the_owner_of_the_latest_generation_leads_for_a_threshold() {
        let leaders = Leaders::new(Duration::from_millis(100));
        let of = |ms| leaders.of(at(ms), K).map(|leader| leader.life.to_string());
        assert_eq!(of(0), None);
        leaders.state(at(1), &statement("a.1", 1, &[K]), Some("a:1"));
        assert_eq!(leaders.of(at(1), K).unwrap().address.as_deref(), Some("a:1"));
        leaders.state(at(10), &statement("b.1", 2, &[K]), None);
        leaders.state(at(20), &statement("a.1", 1, &[K]), None);
        assert_eq!(of(20).as_deref(), Some("b.1"), "a late word of a former owner");
        assert_eq!(of(110), None, "it fell silent");
        leaders.state(at(110), &statement("a.1", 1, &[K]), None);
        assert_eq!(of(111).as_deref(), Some("a.1"), "generations may begin anew");
    }

    #[test]
    fn who_no_longer_states_it_does_not_lead() {
        let leaders = Leaders::new(Duration::from_millis(100));
        leaders.state(at(1), &statement("a.1", 1, &[K]), None);
        leaders.state(at(2), &statement("b.1", 1, &[]), None);
        assert!(leaders.of(at(2), K).is_some());
        leaders.state(at(3), &statement("a.1", 1, &[]), None);
        assert_eq!(leaders.of(at(3), K), None);
    }
}
