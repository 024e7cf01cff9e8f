//! Finds whom a step strikes at the instant of the strike: brokers first, for that takes a while;
//! members are chosen, and taken in hand, right before they are struck.

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha12Rng;

use super::arena::{Arena, Victim};
use super::{Brokers, Far, Network, Sight, Strike};
use crate::controller::{Broker, Which, whereabouts};
use crate::edge::Scope;
use crate::error::chain;
use crate::ids::GroupName;
use crate::time::Mono;
use crate::topology::{Address, PlannedGroup};

/// The brokers that each group's members are cut off from.
type Reach = BTreeMap<GroupName, Scope>;

/// Whom a step strikes.
#[derive(Default)]
pub(super) struct Aim {
    /// The members, taken in hand.
    pub victims: Vec<Victim>,
    /// The brokers, where they are what is struck, taken in hand as well.
    pub brokers: Vec<Broker>,
    /// The brokers that the members are cut off from, by the members' groups.
    pub reach: Reach,
}

/// Finds them.
///
/// # Errors
/// There is nobody to be struck now, or they cannot be found.
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

/// Chooses among those that the target allows at this moment.
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

/// Finds the brokers that are to be hit, where they are the target.
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

/// The far side of each group that the target can hit: which of them it does is chosen later.
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

/// The addresses of the brokers that a group's members are cut off from; nothing is all of them.
async fn brokers(
    arena: &Arena<'_>,
    strike: &Strike,
    what: &Network,
    own: &GroupName,
    group: &PlannedGroup,
) -> Result<Option<BTreeSet<String>>, String> {
    let (plan, cluster) = (arena.plan, &group.cluster);
    let address = plan.clusters.get(cluster).map(|planned| &planned.address);
    // An embedded cluster has one broker, whatever it does for whom.
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
        Far::Node(number) => (group, Which::Node(*number)),
        Far::Address(address) => (group, Which::At(address.clone())),
        Far::Coordinator(name) => (of(name)?, Which::Coordinator),
        Far::Leader { role, group: name } => {
            let ledger = of(name)?;
            let mut chance = ChaCha12Rng::seed_from_u64(strike.seed);
            let all: Vec<_> = plan.roles.indices().collect();
            let any = || all.choose(&mut chance).copied();
            let index = role.as_ref().map_or_else(any, |role| plan.role(role));
            let index = index.ok_or_else(missing)?;
            (ledger, Which::Leader(index.partition(ledger.partitions)))
        }
    };
    let asking = arena.clusters.of_controller(cluster);
    let found = whereabouts(asking, ledger, which).await.map_err(|error| chain(&error))?;
    Ok(Some([found.ok_or_else(missing)?].into()))
}
