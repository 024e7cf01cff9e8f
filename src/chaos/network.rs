//! `partition`, `slow`, `protocol`: edges are told what to do with what passes them, and told to
//! stop. What a network has held is delivered late, in a world that has moved on: the heal is not
//! the end of it, and what begins until the group has settled again is the fault's.

use std::collections::BTreeMap;

use super::Network;
use super::arena::{Arena, FaultError, Victim};
use crate::controller::EdgesError;
use crate::edge::{Rule, Scope};
use crate::ids::{FaultId, GroupName, Life};
use crate::time::Mono;

/// The brokers that each group's members are cut off from.
pub(super) type Reach = BTreeMap<GroupName, Scope>;

/// Puts it in force between all victims and the brokers; since when it is everywhere.
pub(super) async fn inject(
    arena: &Arena<'_>,
    fault: &FaultId,
    what: &Network,
    reach: &Reach,
    victims: &[Victim],
) -> Result<Mono, FaultError> {
    let edges = arena.clusters.edges().ok_or(FaultError::NoEdges)?;
    for victim in victims {
        arena.asked(victim, fault, what.kind);
    }
    let mut last = Mono::ZERO;
    for (scope, victims) in sides(arena, reach, victims) {
        let lives: Vec<Life> = victims.iter().map(|victim| victim.life.clone()).collect();
        let rule = Rule {
            clients: lives.iter().map(|life| life.member.clone()).collect(),
            scope,
            direction: what.direction,
            apis: what.apis.clone(),
            effect: what.effect.clone(),
        };
        let t = edges.enforce(fault, rule, lives).await.map_err(|error| failed(&error))?;
        for victim in victims {
            arena.in_force_at(t, victim, fault);
        }
        last = last.max(t);
    }
    Ok(last)
}

/// Lifts it everywhere. Where the process of the edges is gone, nothing is held or lost by it any
/// more; members cannot reach a broker then, and that ends the run.
pub(super) async fn heal(
    arena: &Arena<'_>,
    fault: &FaultId,
    victims: &[Victim],
) -> Result<(), FaultError> {
    let edges = arena.clusters.edges().ok_or(FaultError::NoEdges)?;
    let t = match edges.heal(fault).await {
        Ok(t) => t,
        Err(EdgesError::Gone) => return Ok(()),
        Err(error) => return Err(failed(&error)),
    };
    for victim in victims {
        arena.healed_at(t, victim, fault);
    }
    Ok(())
}

/// The victims of each scope: one rule is for one cluster.
fn sides<'a>(
    arena: &Arena<'_>,
    reach: &Reach,
    victims: &'a [Victim],
) -> Vec<(Scope, Vec<&'a Victim>)> {
    let mut sides: Vec<(Scope, Vec<&Victim>)> = Vec::new();
    for victim in victims {
        let group = arena.plan.group_of(&victim.life.member);
        let Some(scope) = group.and_then(|group| reach.get(group)) else { continue };
        match sides.iter_mut().find(|(known, _)| known == scope) {
            Some((_, beside)) => beside.push(victim),
            None => sides.push((scope.clone(), vec![victim])),
        }
    }
    sides
}

fn failed(error: &EdgesError) -> FaultError {
    FaultError::Edge(crate::error::chain(error))
}
