//! Sends rules to the edges, and withdraws them. Members that elect among themselves have no edges,
//! and are cut off by a command; those that others started have edges of their own, and are cut off
//! by an order. Held traffic is delivered late, when the group has
//! moved on, so the fault's effects can outlast the heal: what begins before the group has
//! settled again is attributed to the fault.

use std::collections::BTreeMap;
use std::future::pending;

use futures_util::future::{LocalBoxFuture, select_all};

use super::Network;
use super::members::shell as members;
use super::ordered::shell as ordered;
use crate::chaos::arena::{Arena, FaultError, Victim};
use crate::chaos::{Case, Injection};
use crate::controller::EdgesError;
use crate::edge::{Rule, Scope};
use crate::ids::{GroupName, Life};
use crate::time::Mono;

/// The brokers that each group's members are cut off from.
type Reach = BTreeMap<GroupName, Scope>;

pub(in crate::chaos::faults) struct Shell(pub(in crate::chaos::faults) Network);

impl Injection for Shell {
    /// Puts the rule in force between all victims and the brokers. Returns since when it applies
    /// everywhere.
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async move {
            let (arena, what) = (case.arena, &self.0);
            for victim in case.victims() {
                case.asked(Some(&victim.life));
            }
            let mut last = members::cut_off(case).await?.max(ordered::cut_off(case).await?);
            if case.victims().iter().all(|victim| is_apart(case.arena, victim)) {
                return Ok(last);
            }
            let edges = arena.clusters.edges().ok_or(FaultError::NoEdges)?;
            for (scope, victims) in sides(arena, &case.aim.reach, case.victims()) {
                let lives: Vec<Life> = victims.iter().map(|victim| victim.life.clone()).collect();
                let rule = Rule {
                    clients: lives.iter().map(|life| life.member.clone()).collect(),
                    scope,
                    direction: what.direction,
                    apis: what.apis.clone(),
                    effect: what.effect.clone(),
                };
                let t = edges.enforce(&case.fault, rule, lives).await;
                let t = t.map_err(|error| failed(&error))?;
                for victim in victims {
                    case.in_force_at(t, victim);
                }
                last = last.max(t);
            }
            Ok(last)
        })
    }

    /// Lifts the rule everywhere. If the edge process is gone, it no longer holds or drops
    /// anything; members then cannot reach a broker, which ends the run.
    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(async move {
            let members = members::heal(case).and(ordered::heal(case).await);
            if case.victims().iter().all(|victim| is_apart(case.arena, victim)) {
                return members;
            }
            let edges = case.arena.clusters.edges().ok_or(FaultError::NoEdges)?;
            let t = match edges.heal(&case.fault).await {
                Ok(t) => t,
                Err(EdgesError::Gone) => return Ok(()),
                Err(error) => return Err(failed(&error)),
            };
            for victim in case.victims().iter().filter(|it| !is_apart(case.arena, it)) {
                case.healed_at(t, victim);
            }
            members
        })
    }

    /// Returns once an order holds no longer although it was not withdrawn; edges are not watched.
    fn slips<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, FaultError> {
        let ordered = case.victims().iter().filter(|victim| ordered::is_one(case.arena, victim));
        let all: Vec<_> = ordered.map(|victim| Box::pin(ordered::slips(victim))).collect();
        if all.is_empty() {
            return Box::pin(pending());
        }
        Box::pin(async move { select_all(all).await.0 })
    }
}

/// Whether the edges of the run have nothing to do with the victim.
fn is_apart(arena: &Arena<'_>, victim: &Victim) -> bool {
    members::is_one(arena, victim) || ordered::is_one(arena, victim)
}

/// The victims of each scope; a rule applies to one cluster.
fn sides<'a>(
    arena: &Arena<'_>,
    reach: &Reach,
    victims: &'a [Victim],
) -> Vec<(Scope, Vec<&'a Victim>)> {
    let mut sides: Vec<(Scope, Vec<&Victim>)> = Vec::new();
    for victim in victims.iter().filter(|victim| !is_apart(arena, victim)) {
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
    FaultError::Failed(crate::error::chain(error))
}
