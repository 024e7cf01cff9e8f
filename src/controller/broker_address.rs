//! BrokerQuery broker does what, as its cluster says at this moment.

use crate::ids::PartitionId;
use crate::kafka::{Admin, Cluster, KafkaError};
use crate::topology::PlannedGroup;

/// A broker, by what it does or is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerQuery {
    /// The one that coordinates the group.
    Coordinator,
    /// The one that leads this partition of the group's ledger.
    Leader(PartitionId),
    /// The one of this number.
    Node(i32),
    /// The one at this address.
    At(String),
}

/// Its address in the cluster of a group; nothing where there is none now.
///
/// # Errors
/// The cluster does not answer.
pub async fn broker_address(
    cluster: Cluster,
    group: &PlannedGroup,
    which: BrokerQuery,
) -> Result<Option<String>, KafkaError> {
    let PlannedGroup { consumer_group, topic, .. } = group.clone();
    // The client's calls block.
    let runtime = tokio::runtime::Handle::current();
    let told = tokio::task::spawn_blocking(move || {
        let _entered = runtime.enter();
        let admin = Admin::new(&cluster)?;
        match which {
            BrokerQuery::Coordinator => {
                runtime.block_on(admin.coordinator(&consumer_group, &topic))
            }
            BrokerQuery::Leader(partition) => admin.leader(&topic, partition),
            BrokerQuery::Node(number) => Ok(admin.brokers()?.remove(&number)),
            BrokerQuery::At(address) => {
                Ok(admin.brokers()?.into_values().find(|it| *it == address))
            }
        }
    });
    // A task that is gone was ended with the runtime, and nobody asks any more.
    told.await.unwrap_or(Ok(None))
}
