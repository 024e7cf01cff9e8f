//! Which versions of the protocol the members on a ledger have spoken lately, and of which groups
//! they are.

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError as Error;
use rdkafka::{Message, Offset, TopicPartitionList};

use super::error_log::ErrorLog;
use super::mark::{author, named};
use super::{Cluster, KafkaError};
use tandem_facts::ids::TopicName;
use tandem_facts::time::{Mono, Wall};
use tandem_neli::Versions;

/// The partition on which it looks: all members publish on all of them.
const LOOKED_AT: i32 = 0;
/// The most records that are read: as many as a thousand members publish in an interval.
const RECORDS_MAX: i64 = 1_000;
/// How long that may take. A member learns of others while it runs, too.
const WITHIN: Duration = Duration::from_secs(2);

/// The versions, and the groups, of those that have published on `topic` within the time, as far as
/// the wall clock tells. Nothing where the ledger is not read in time.
///
/// # Errors
/// The client refuses its configuration.
pub fn spoken(
    cluster: &Cluster,
    topic: &TopicName,
    lately: Duration,
) -> Result<BTreeSet<(Versions, Option<String>)>, KafkaError> {
    let refused = |source| cluster.refused(source);
    let (mut config, errors) = cluster.asking()?;
    // As a tail: librdkafka takes assignments only with a group.
    config.set("group.id", topic.as_str()).set("enable.auto.commit", "false");
    config.set("enable.partition.eof", "true").set("auto.offset.reset", "earliest");
    config.set("fetch.wait.max.ms", "10").set("fetch.error.backoff.ms", "20");
    let consumer: BaseConsumer<ErrorLog> = config.create_with_context(errors).map_err(refused)?;
    cluster.introduce(&consumer);
    let began = Mono::now();
    // Without a known leader librdkafka asks for the end of a partition 500 ms later.
    let _known = consumer.fetch_metadata(Some(topic.as_str()), WITHIN);
    let mut list = TopicPartitionList::new();
    let at = Offset::OffsetTail(RECORDS_MAX);
    list.add_partition_offset(topic.as_str(), LOOKED_AT, at).map_err(refused)?;
    consumer.assign(&list).map_err(refused)?;
    let since = Wall::now().0 - i64::try_from(lately.as_millis()).unwrap_or(i64::MAX);
    let mut found = BTreeSet::new();
    loop {
        let left = WITHIN.saturating_sub(Mono::now().since(began));
        match consumer.poll(left) {
            None | Some(Err(Error::PartitionEOF(_))) => break,
            Some(Ok(message)) => {
                let stamp = message.timestamp().to_millis();
                let is_late = stamp.is_some_and(|stamp| stamp < since);
                let headers = message.headers().filter(|_| !is_late);
                let author = headers.and_then(author);
                found
                    .extend(author.map(|it| (it.versions, headers.and_then(|it| named(it).group))));
            }
            Some(Err(error)) => {
                tracing::warn!(%error, %topic, "It is not known yet which versions are spoken.");
                break;
            }
        }
    }
    Ok(found)
}
