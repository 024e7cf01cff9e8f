//! Who leads after a leader was killed, by the facts of a run.

use std::collections::BTreeMap;

use tandem::ids::{Life, PartitionId};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;

/// A claim, and in which generation of its group the member held the partition, where it says so.
struct Claim<'a> {
    by: &'a Life,
    partition: PartitionId,
    from: Mono,
    fence: Option<i64>,
    generation: Option<i32>,
}

impl Claim<'_> {
    /// Whether it belongs to a later term than the other: by its fence, or else by the generation.
    fn is_after(&self, other: &Self) -> bool {
        if let (Some(ours), Some(theirs)) = (self.fence, other.fence) {
            return ours > theirs;
        }
        matches!((self.generation, other.generation), (Some(ours), Some(theirs)) if ours > theirs)
    }
}

fn claims(facts: &[Fact]) -> Vec<Claim<'_>> {
    let (mut generations, mut claims) = (BTreeMap::new(), Vec::new());
    for fact in facts {
        let Some(by) = &fact.life else { continue };
        match fact.what {
            What::Member(MemberEvent::Assigned { generation, .. }) => {
                generations.insert(by, generation);
            }
            What::Member(MemberEvent::Claimed { partition, from, fence, .. }) => {
                let generation = generations.get(by).copied().flatten();
                claims.push(Claim { by, partition, from, fence, generation });
            }
            _ => {}
        }
    }
    claims
}

/// The life that this fault killed, and one of another member of its group that leads what it led,
/// in a later term.
///
/// # Errors
/// There is none.
pub fn heir(facts: &[Fact], fault: &str) -> Result<(Life, Life), String> {
    let is_struck = |fact: &&Fact| {
        matches!(&fact.what, What::Run(RunEvent::FaultInForce { fault: it })
            if it.to_string() == fault)
    };
    let victim = facts.iter().find(is_struck).and_then(|fact| fact.life.as_ref());
    let victim = victim.ok_or_else(|| format!("{fault} has no victim"))?;
    let is_end = |fact: &&Fact| {
        fact.life.as_ref() == Some(victim)
            && matches!(fact.what, What::Run(RunEvent::Died { signal: Some(9), .. }))
    };
    let died = facts.iter().find(is_end).ok_or_else(|| format!("{victim} is not dead"))?.t;
    let all = claims(facts);
    let group = |life: &Life| life.member.as_str().split('-').next().map(str::to_owned);
    let succeeds = |new: &&Claim<'_>| {
        let other = new.by.member != victim.member && group(new.by) == group(victim);
        let led = |old: &Claim<'_>| old.by == victim && old.partition == new.partition;
        other && new.from > died && all.iter().any(|old| led(old) && new.is_after(old))
    };
    let heir = all.iter().find(succeeds);
    let heir = heir.ok_or_else(|| format!("no other member leads what {victim} led"))?;
    Ok((victim.clone(), heir.by.clone()))
}
