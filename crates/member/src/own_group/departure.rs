//! Leaves a group for a member that is dead.

use std::time::Duration;

use super::OwnGroup;
use super::core::Core;
use crate::Config;
use crate::kafka::KafkaError;
use tandem_facts::time::Mono;

/// Leaves the group of `config` for a member that is dead, by the id that the coordinator gave it
/// ([`Assignment::member_id`](tandem_neli::Assignment::member_id)). The group then reassigns its
/// partitions at once, and not only after a session. Returns when the coordinator has answered, and
/// after `within` at the latest.
///
/// Call it only once the process of the member, and all work of the member, is known to be dead.
/// Never call it on a suspicion, and never because a connection has ended: a member that lives
/// would lead on beside its successor.
///
/// # Errors
/// [`MembershipClient::Own`](crate::kafka::MembershipClient::Own) cannot connect to this cluster.
pub fn leave_for(config: &Config, member_id: &str, within: Duration) -> Result<(), KafkaError> {
    let now = Mono::now();
    let mut group = OwnGroup::new(now, config)?;
    let (protocol, of) = (group.protocol, group.config.clone());
    group.core = Core::departing(now, protocol, of, member_id.to_owned());
    group.leave(within);
    Ok(())
}
