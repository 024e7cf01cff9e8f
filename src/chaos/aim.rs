//! Resolves the victims of a step at the instant of its strike. Brokers come first, because finding
//! them takes a while; members are chosen and reserved right before the fault is injected.

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha12Rng;

use super::arena::{Arena, Victim};
use super::{Brokers, Far, Network, Sight, Strike};
use crate::controller::{Broker, BrokerQuery, broker_address};
use crate::edge::Scope;
use crate::error::chain;
use crate::ids::GroupName;
use crate::time::Mono;
use crate::topology::{Address, PlannedGroup};

/// The brokers that each group's members are cut off from.
type Reach = BTreeMap<GroupName, Scope>;

/// The victims of a step.
#[derive(Default)]
pub(super) struct Aim {
    /// The members, reserved for this fault.
    pub victims: Vec<Victim>,
    /// The brokers, reserved for this fault, if the target is brokers.
    pub brokers: Vec<Broker>,
    /// The brokers that the members are cut off from, by group.
    pub reach: Reach,
}

/// Resolves the victims of a strike and reserves them.
///
/// # Errors
/// No victim is available now, or the brokers cannot be found.
pub(super) async fn aim(arena: &Arena<'_>, strike: &Strike) -> Result<Aim, String> {
    let struck = struck(arena, strike).await?;
    let reach = match strike.step.fault.network() {
        Some(network) => reach(arena, strike, network).await?,
        None => Reach::new(),
    };
    arena.take_brokers(&struck).map_err(|error| error.to_string())?;
    let victims = choose(arena, strike).inspect_err(|_| arena.release_brokers(&struck))?;
    Ok(Aim { victims, brokers: struck, reach })
}

/// Chooses among the members that the target allows at this moment.
fn choose(arena: &Arena<'_>, strike: &Strike) -> Result<Vec<Victim>, String> {
    let Some(target) = &strike.step.target else { return Ok(Vec::new()) };
    let members = arena.record.look(|live| {
        let now = Mono::now();
        let sight = Sight {
            plan: arena.plan,
            leaders: &|group, at| live.claimants(now, group, at).cloned().collect(),
            living: &|group| live.living(group).cloned().collect(),
        };
        target.resolve(sight, strike.seed).map_err(|error| error.to_string())
    })?;
    arena.take(&members).map_err(|error| error.to_string())
}

/// Finds the brokers to hit, if the target is brokers.
async fn struck(arena: &Arena<'_>, strike: &Strike) -> Result<Vec<Broker>, String> {
    let target = strike.step.target.as_ref();
    let chosen = target.and_then(|target| target.brokers(arena.plan, strike.seed));
    let (plan, clusters) = (arena.plan, arena.clusters);
    let found = match chosen {
        None => Ok(Vec::new()),
        Some(Brokers::CoordinatorOf(group)) => {
            Broker::coordinating(plan, clusters, &group).await.map(|one| vec![one])
        }
        Some(Brokers::LeaderOf(group, partition)) => {
            Broker::leading(plan, clusters, &group, partition).await.map(|one| vec![one])
        }
        Some(Brokers::AllOf(cluster)) => Broker::all(clusters, &cluster),
        Some(Brokers::OnHost(host)) => {
            let all = plan.clusters_on(&host).into_iter();
            let all: Result<Vec<_>, _> = all.map(|it| Broker::all(clusters, &it)).collect();
            all.map(|found| found.into_iter().flatten().collect())
        }
    };
    found.map_err(|error| chain(&error))
}

/// The far side of each group that the target can hit; the members themselves are chosen later.
async fn reach(arena: &Arena<'_>, strike: &Strike, what: &Network) -> Result<Reach, String> {
    let groups = strike.step.target.as_ref().map(|target| target.groups(arena.plan));
    let mut reach = Reach::new();
    for name in groups.unwrap_or_default() {
        let Some(group) = arena.plan.groups.get(&name) else { continue };
        let brokers = brokers(arena, strike, what, &name, group).await?;
        reach.insert(name, Scope { cluster: group.cluster.clone(), brokers });
    }
    Ok(reach)
}

/// The addresses of the brokers that a group's members are cut off from; `None` means all of them.
async fn brokers(
    arena: &Arena<'_>,
    strike: &Strike,
    what: &Network,
    own: &GroupName,
    group: &PlannedGroup,
) -> Result<Option<BTreeSet<String>>, String> {
    let (plan, cluster) = (arena.plan, &group.cluster);
    let address = plan.clusters.get(cluster).map(|planned| &planned.address);
    // An embedded cluster has one broker, which holds every role.
    if matches!(address, Some(Address::Embedded) | None) {
        return Ok(None);
    }
    let of = |name: &Option<GroupName>| {
        let whose = name.as_ref().unwrap_or(own);
        plan.groups.get(whose).ok_or_else(|| format!("there is no group {whose}"))
    };
    let missing = || format!("cluster {cluster} has no such broker now");
    let (ledger, which) = match &what.from {
        Far::Cluster(_) => return Ok(None),
        Far::Node(number) => (group, BrokerQuery::Node(*number)),
        Far::Address(address) => (group, BrokerQuery::At(address.clone())),
        Far::Coordinator(name) => (of(name)?, BrokerQuery::Coordinator),
        Far::Leader { role, group: name } => {
            let ledger = of(name)?;
            let mut chance = ChaCha12Rng::seed_from_u64(strike.seed);
            let all: Vec<_> = plan.roles.indices().collect();
            let any = || all.choose(&mut chance).copied();
            let index = role.as_ref().map_or_else(any, |role| plan.role(role));
            let index = index.ok_or_else(missing)?;
            (ledger, BrokerQuery::Leader(index.partition(ledger.partitions)))
        }
    };
    let asking = arena.clusters.of_controller(cluster);
    let found = broker_address(asking, ledger, which).await.map_err(|error| chain(&error))?;
    Ok(Some([found.ok_or_else(missing)?].into()))
}
