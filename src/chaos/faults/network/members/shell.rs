//! Cuts members off that elect among themselves: a member that is ordered so loses what it would
//! send and what it receives, and says that it reaches no other.

use std::time::Duration;

use crate::chaos::Case;
use crate::chaos::arena::{Arena, FaultError, Victim};
use crate::member::MemberCommand;
use crate::time::Mono;

/// How long a member may take to say so.
const HEARD: Duration = Duration::from_secs(5);
/// How often to check whether it has.
const LOOK: Duration = Duration::from_millis(2);

/// Whether the victim elects among the members of its group.
pub(in crate::chaos::faults::network) fn is_one(arena: &Arena<'_>, victim: &Victim) -> bool {
    let group = arena.plan.group_of(&victim.life.member);
    let group = group.and_then(|name| arena.plan.groups.get(name));
    group.is_some_and(|group| arena.plan.elects_alone(group))
}

/// Cuts those of the victims off. Returns when the last was known to be.
pub(in crate::chaos::faults::network) async fn cut_off(
    case: &Case<'_>,
) -> Result<Mono, FaultError> {
    let victims = || case.victims().iter().filter(|victim| is_one(case.arena, victim));
    let asked = Mono::now();
    for victim in victims() {
        order(victim, true)?;
    }
    let mut last = Mono::ZERO;
    for victim in victims() {
        let at = is_cut_off(case.arena, victim, asked).await?;
        case.in_force_at(at, victim);
        last = last.max(at);
    }
    Ok(last)
}

/// Lets everything pass again. A victim that has died meanwhile comes back uncut.
pub(in crate::chaos::faults::network) fn heal(case: &Case<'_>) -> Result<(), FaultError> {
    let mut outcome = Ok(());
    for victim in case.victims().iter().filter(|victim| is_one(case.arena, victim)) {
        let there = victim.slot.life() == victim.life;
        let ordered = if there { order(victim, false) } else { Ok(()) };
        if ordered.is_ok() {
            case.healed_at(Mono::now(), victim);
        }
        outcome = outcome.and(ordered);
    }
    outcome
}

fn order(victim: &Victim, off: bool) -> Result<(), FaultError> {
    let Some(process) = victim.slot.process() else { return Ok(()) };
    process
        .order(&MemberCommand::Cut(off).line())
        .map_err(|error| FaultError::Signal { life: victim.life.clone(), why: error.to_string() })
}

/// Waits until the member says that it reaches no other. Returns since when.
async fn is_cut_off(arena: &Arena<'_>, victim: &Victim, asked: Mono) -> Result<Mono, FaultError> {
    while Mono::now().since(asked) < HEARD {
        let since = arena.record.look(|live| {
            let mut all = live.causes().unconnected();
            all.find(|lost| lost.life == victim.life).map(|lost| lost.since)
        });
        if let Some(since) = since {
            return Ok(since.max(asked));
        }
        tokio::time::sleep(LOOK).await;
    }
    let (life, state) = (victim.life.clone(), "cut off from the others");
    Err(FaultError::Late { life, state, within: HEARD })
}
