//! Finds the address of a broker by what it does for a group.

use crate::ids::PartitionId;
use crate::kafka::{Admin, Cluster, KafkaError};
use crate::topology::PlannedGroup;

/// The broker to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerQuery {
    /// The coordinator of the group.
    Coordinator,
    /// The leader of this partition of the group's ledger.
    Leader(PartitionId),
    /// The broker with this node id.
    Node(i32),
    /// The broker with this address.
    At(String),
}

/// The address of a broker in the cluster of a group; `None` if there is currently none.
///
/// # Errors
/// The cluster does not answer.
pub async fn broker_address(
    cluster: Cluster,
    group: &PlannedGroup,
    which: BrokerQuery,
) -> Result<Option<String>, KafkaError> {
    let PlannedGroup { consumer_group, topic, .. } = group.clone();
    // The client's calls block the thread.
    let runtime = tokio::runtime::Handle::current();
    let answer = tokio::task::spawn_blocking(move || {
        let _entered = runtime.enter();
        let admin = Admin::new(&cluster)?;
        match which {
            BrokerQuery::Coordinator => {
                runtime.block_on(admin.coordinator(&consumer_group, &topic))
            }
            BrokerQuery::Leader(partition) => admin.leader(&topic, partition),
            BrokerQuery::Node(number) => Ok(admin.brokers()?.remove(&number)),
            BrokerQuery::At(address) => {
                // Metadata names an IPv6 address without brackets.
                let address = address.replace(['[', ']'], "");
                Ok(admin.brokers()?.into_values().find(|it| *it == address))
            }
        }
    });
    // This fails only while the runtime shuts down; the result is not used then.
    answer.await.unwrap_or(Ok(None))
}
