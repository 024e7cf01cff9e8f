//! What a member of a group whose members Tandem does not start writes of itself: the facts of any
//! member, with the ticks of a stand-in duty, by way of a witness.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::place::address_of;
use super::{HoldError, OwnEdge};
use crate::external::{OrdersSetup, Origin, WitnessSetup, attend, clock_domain};
use crate::guard::{Identity, state_home};
use crate::ids::{ClusterName, GroupName, Life};
use crate::kafka::Access;
use crate::member::{Channel, duty, reported};
use crate::time::Mono;
use crate::topology::Plan;
use tandem_member::{Claims, Event, JoinError};

/// A member that has written nothing for so long writes all its claims, also where it has none.
const QUIET: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(50);

/// Where a member's facts go.
#[derive(Clone)]
pub struct Facts {
    channel: Arc<Mutex<Channel>>,
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts").finish_non_exhaustive()
    }
}

impl Facts {
    /// Starts a witness for this life, which claims what `claims` says. Orders cut it off by its
    /// `edge`.
    ///
    /// # Errors
    /// The system refuses the witness or a thread, or the name is too long.
    pub async fn begin(
        (plan, group): (&Plan, &GroupName),
        life: &Life,
        claims: &Arc<Claims>,
        edge: Option<OwnEdge>,
    ) -> Result<Self, HoldError> {
        let refused =
            |source| HoldError::System { what: "the facts of the member cannot be kept", source };
        let named = |error| HoldError::Join(JoinError::Name(error));
        // Names are unique in a group; of all groups, only with the group before them.
        let member = format!("{group}-{}", life.member).parse().map_err(named)?;
        let origin = Origin {
            group: group.clone(),
            life: Life { member, incarnation: life.incarnation },
            pid: std::process::id(),
            began: Mono::now(),
            clock: clock_domain().map_err(refused)?,
        };
        let folder = state_home().join("tandem/facts").join(plan.topology.as_str());
        let setup = WitnessSetup {
            holder: Identity::own(),
            topic: plan.facts_topic().map_err(named)?,
            folder: folder.join(group.as_str()).join(life.member.as_str()),
            clusters: clusters(plan).await,
            orders: orders(plan, group),
            origin,
        };
        let link = edge.map(OwnEdge::serve).transpose().map_err(refused)?;
        let pipe = attend(&setup, link).map_err(refused)?;
        let channel = Channel::new(pipe, setup.origin.life, Arc::clone(claims)).map_err(refused)?;
        let facts = Self { channel: Arc::new(Mutex::new(channel)) };
        duty::start(Arc::clone(claims), Arc::clone(&facts.channel), None).map_err(refused)?;
        facts.restate().map_err(refused)?;
        Ok(facts)
    }

    /// Writes what has happened to the member.
    pub fn record(&self, at: Mono, event: Event) {
        let left = event == Event::Left;
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(at, reported(event));
        if left {
            channel.rejoins();
        }
    }

    /// Starts the thread that speaks where nothing happens; it ends with the process.
    fn restate(&self) -> std::io::Result<()> {
        let channel = Arc::clone(&self.channel);
        let thread = std::thread::Builder::new().name("facts".to_owned());
        let _runs_with_the_process = thread.spawn(move || {
            loop {
                let mut open = channel.lock().unwrap_or_else(PoisonError::into_inner);
                open.restate(Mono::now(), QUIET);
                drop(open);
                std::thread::sleep(LOOK);
            }
        })?;
        Ok(())
    }
}

/// How the member takes the orders of experiments, if its group allows these.
fn orders(plan: &Plan, group: &GroupName) -> Option<OrdersSetup> {
    plan.groups.get(group).filter(|group| group.takes_orders())?;
    let (topology, topic) = (plan.topology.clone(), plan.orders_topic()?);
    Some(OrdersSetup { topology, topic, key: plan.order_key.clone() })
}

/// All clusters whose address is known: where one is cut off, the facts travel by another.
async fn clusters(plan: &Plan) -> BTreeMap<ClusterName, (String, Access)> {
    let mut clusters = BTreeMap::new();
    for (name, planned) in &plan.clusters {
        match address_of(plan, name).await {
            Ok(address) => drop(clusters.insert(name.clone(), (address, planned.members.clone()))),
            Err(error) => {
                let error = crate::error::chain(&error);
                tracing::warn!(error, cluster = %name, "No facts travel by this cluster.");
            }
        }
    }
    clusters
}
