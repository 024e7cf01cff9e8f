//! Executes commands.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::command::{Answer, Direction, EdgeCommand, Effect, Rule};
use super::compose::can_answer;
use super::edges;
use super::hub::{Hub, State};
use super::limits::RULES_MAX;
use super::listener::{learn, open, resolve};
use super::rewrite::HOST;
use super::rules::Active;
use super::tls::Security;
use tandem_facts::ids::{ClusterName, FaultId, MemberId};
use tandem_facts::time::Mono;

/// A request that has passed in part gets this much time to pass; then its connection is reset.
const FINISH: Duration = Duration::from_secs(1);
/// The interval at which the state is checked.
const LOOK: Duration = Duration::from_millis(1);

/// Executes a command. Returns when it is done.
pub(super) async fn execute(hub: &Arc<Hub>, command: EdgeCommand) -> Answer {
    match command {
        EdgeCommand::Open { client, cluster, bootstrap, tls } => {
            let security = match tls.as_ref().map(Security::of).transpose() {
                Ok(security) => security,
                Err(error) => return Answer::Refused { why: tandem_host::error::chain(&error) },
            };
            match open_all(hub, &client, &cluster, &bootstrap, security.as_ref()).await {
                Ok(bootstrap) => Answer::Opened { bootstrap },
                Err(why) => Answer::Refused { why },
            }
        }
        EdgeCommand::Break { fault, rule } => match refusal(&rule) {
            Some(why) => Answer::Refused { why },
            None => put_in_force(hub, fault, rule).await,
        },
        EdgeCommand::Heal { fault } => heal(hub, &fault).await,
    }
}

/// Opens the edges to the brokers in `bootstrap`. Returns the edges' addresses.
async fn open_all(
    hub: &Arc<Hub>,
    client: &MemberId,
    cluster: &ClusterName,
    bootstrap: &str,
    security: Option<&Security>,
) -> Result<String, String> {
    let read = |text| edges::address(text).ok_or_else(|| format!("{text:?} is not host:port"));
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
        return Some("a rule for single requests must name at least one".to_owned());
    }
    match &rule.effect {
        Effect::Slow { bytes_per_second: Some(0), .. } => {
            Some("nothing passes at 0 bytes a second: stall it instead".to_owned())
        }
        Effect::Answer { .. } if rule.direction == Direction::ToClient => {
            Some("a rule can answer requests only: choose the other direction".to_owned())
        }
        Effect::Answer { .. } => match &rule.apis {
            None => Some("name the requests to answer".to_owned()),
            Some(apis) => {
                let other = apis.iter().find(|api| !can_answer(**api))?;
                Some(format!("cannot answer requests of API {other}"))
            }
        },
        Effect::Drop | Effect::Stall | Effect::Reset | Effect::Slow { .. } => None,
    }
}

async fn put_in_force(hub: &Hub, fault: FaultId, rule: Rule) -> Answer {
    let mut addresses = BTreeSet::new();
    for broker in rule.scope.brokers.iter().flatten() {
        let Some((host, port)) = edges::address(broker) else {
            return Answer::Refused { why: format!("{broker:?} is not host:port") };
        };
        addresses.extend(resolve(host, port).await);
    }
    let active = Active { fault, rule, addresses };
    let latest = hub.change(|state| {
        if state.rules.len() >= RULES_MAX {
            return None;
        }
        for edge in state.edges.all() {
            edge.await_no_more(&active.fault);
        }
        state.rules.push(active.clone());
        Some(state.connections.latest())
    });
    let Some(latest) = latest else {
        return Answer::Refused { why: format!("{RULES_MAX} rules are in force already") };
    };
    let began = Mono::now();
    let mut doomed = false;
    loop {
        let open = hub.with(|state| state.connections.unsettled(&active, latest));
        if open.is_empty() {
            return Answer::InForce { t: Mono::now() };
        }
        if !doomed && Mono::now().since(began) > FINISH {
            tracing::warn!(open = open.len(), "Requests do not end; their connections are reset.");
            doomed = true;
            hub.change(|state| state.connections.doom(&open));
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
    // Connections that lost bytes have been reset by then, or are dead.
    while !hub.with(|state| state.connections.lost_by(fault)).is_empty()
        && Mono::now().since(began) < FINISH
    {
        tokio::time::sleep(LOOK).await;
    }
    Answer::Healed { t: Mono::now() }
}

/// Waits for the first answer on each edge where one of these rules was in force.
fn expect_answers(state: &State, lifted: &[Active]) {
    for edge in state.edges.all() {
        let here = || lifted.iter().filter(|active| active.concerns(&edge.concerned()));
        let Some(first) = here().next() else { continue };
        // Any answer counts if a rule concerned all bytes.
        let every = here().any(|active| active.rule.apis.is_none());
        let apis = here().flat_map(|active| active.rule.apis.iter().flatten().copied());
        edge.await_answer(&first.fault, (!every).then(|| apis.collect()));
    }
}
