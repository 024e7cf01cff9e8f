//! Each order to what it changes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::book;
use super::compose::can_answer;
use super::hub::{Hub, State};
use super::limits::RULES_MAX;
use super::listener::{learn, open, resolve};
use super::order::{Answer, Direction, Effect, Order, Rule};
use super::rewrite::HOST;
use super::rules::Active;
use super::tls::Security;
use tandem_facts::ids::{ClusterName, FaultId, MemberId};
use tandem_facts::time::Mono;

/// A request that has passed in part has so long to pass; then its connection is reset.
const FINISH: Duration = Duration::from_secs(1);
/// How often it is looked whether all have finished.
const LOOK: Duration = Duration::from_millis(1);

/// Does what is ordered, and says when it was done.
pub(super) async fn obey(hub: &Arc<Hub>, order: Order) -> Answer {
    match order {
        Order::Open { client, cluster, bootstrap, tls } => {
            let security = match tls.as_ref().map(Security::of).transpose() {
                Ok(security) => security,
                Err(error) => return Answer::Refused { why: tandem_host::error::chain(&error) },
            };
            match open_all(hub, &client, &cluster, &bootstrap, security.as_ref()).await {
                Ok(bootstrap) => Answer::Opened { bootstrap },
                Err(why) => Answer::Refused { why },
            }
        }
        Order::Break { fault, rule } => match refusal(&rule) {
            Some(why) => Answer::Refused { why },
            None => put_in_force(hub, fault, rule).await,
        },
        Order::Heal { fault } => heal(hub, &fault).await,
    }
}

/// Where the client finds its edges.
async fn open_all(
    hub: &Arc<Hub>,
    client: &MemberId,
    cluster: &ClusterName,
    bootstrap: &str,
    security: Option<&Security>,
) -> Result<String, String> {
    let read = |text| book::address(text).ok_or_else(|| format!("{text:?} is no host:port"));
    let brokers: Vec<_> = bootstrap.split(',').map(read).collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for broker in brokers {
        let edge =
            open(hub, client, cluster, broker, security).map_err(|error| error.to_string())?;
        learn(hub, &edge).await;
        found.push(format!("{HOST}:{}", edge.listens));
    }
    Ok(found.join(","))
}

/// Why a rule cannot be put in force, if it cannot.
fn refusal(rule: &Rule) -> Option<String> {
    if rule.apis.as_ref().is_some_and(BTreeSet::is_empty) {
        return Some("a rule about single requests names none".to_owned());
    }
    match &rule.effect {
        Effect::Slow { bytes_per_second: Some(0), .. } => {
            Some("nothing passes at 0 bytes a second: stall it instead".to_owned())
        }
        Effect::Answer { .. } if rule.direction == Direction::ToClient => {
            Some("requests are answered, and no answers: name the other direction".to_owned())
        }
        Effect::Answer { .. } => match &rule.apis {
            None => Some("name the requests that are to be answered".to_owned()),
            Some(apis) => {
                let other = apis.iter().find(|api| !can_answer(**api))?;
                Some(format!("requests of number {other} cannot be answered here"))
            }
        },
        Effect::Drop | Effect::Stall | Effect::Reset | Effect::Slow { .. } => None,
    }
}

async fn put_in_force(hub: &Hub, fault: FaultId, rule: Rule) -> Answer {
    let mut addresses = BTreeSet::new();
    for broker in rule.scope.brokers.iter().flatten() {
        let Some((host, port)) = book::address(broker) else {
            return Answer::Refused { why: format!("{broker:?} is no host:port") };
        };
        addresses.extend(resolve(host, port).await);
    }
    let active = Active { fault, rule, addresses };
    let latest = hub.change(|state| {
        if state.rules.len() >= RULES_MAX {
            return None;
        }
        for edge in state.book.all() {
            edge.await_no_more(&active.fault);
        }
        state.rules.push(active.clone());
        Some(state.standings.latest())
    });
    let Some(latest) = latest else {
        return Answer::Refused { why: format!("{RULES_MAX} rules are in force already") };
    };
    let began = Mono::now();
    let mut doomed = false;
    loop {
        let open = hub.with(|state| state.standings.unsettled(&active, latest));
        if open.is_empty() {
            return Answer::InForce { t: Mono::now() };
        }
        if !doomed && Mono::now().since(began) > FINISH {
            tracing::warn!(open = open.len(), "Requests do not end; their connections are reset.");
            doomed = true;
            hub.change(|state| state.standings.doom(&open));
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn heal(hub: &Hub, fault: &FaultId) -> Answer {
    hub.change(|state| {
        let lifted: Vec<Active> =
            state.rules.extract_if(.., |active| active.fault == *fault).collect();
        expect_answers(state, &lifted);
    });
    let began = Mono::now();
    // Those that lost bytes are reset by now, or they are dead.
    while !hub.with(|state| state.standings.lost_by(fault)).is_empty()
        && Mono::now().since(began) < FINISH
    {
        tokio::time::sleep(LOOK).await;
    }
    Answer::Healed { t: Mono::now() }
}

/// From now on, the first answer is told where one of these rules was in force.
fn expect_answers(state: &State, lifted: &[Active]) {
    for edge in state.book.all() {
        let here = || lifted.iter().filter(|active| active.concerns(&edge.concerned()));
        let Some(first) = here().next() else { continue };
        // Any answer will do where every byte was concerned.
        let every = here().any(|active| active.rule.apis.is_none());
        let apis = here().flat_map(|active| active.rule.apis.iter().flatten().copied());
        edge.await_answer(&first.fault, (!every).then(|| apis.collect()));
    }
}
