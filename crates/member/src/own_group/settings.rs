//! The settings of a group of the newer protocol, which are the brokers' and not the members'.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::{ApiKey, IncrementalAlterConfigsRequest, RequestKind, ResponseKind};
use kafka_protocol::protocol::StrBytes;

use super::line::{Address, Carrier};
use super::security::Security;
use super::socket::Socket;
use super::wire::{GROUP, SESSION, Speaker};
use crate::kafka::{Cluster, KafkaError};
use tandem_facts::ids::ConsumerGroup;

/// How long handshakes may take.
const HANDSHAKES: Duration = Duration::from_secs(2);
const HEARTBEAT: &str = "consumer.heartbeat.interval.ms";
const ASSIGNMENT: &str = "consumer.assignment.interval.ms";
/// A value is set.
const SET: i8 = 0;
/// A value of the group's own is removed: the broker's holds again.
const DELETE: i8 = 1;
/// INVALID_CONFIG.
const INVALID: i16 = 40;
/// The broker does not know the setting: it came with Kafka 4.3.
const NO_SUCH: &str = "Unknown group config";

/// The settings of a group of the newer protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupTerms {
    /// `consumer.session.timeout.ms`.
    pub session: Duration,
    /// `consumer.heartbeat.interval.ms`.
    pub heartbeat: Duration,
    /// `consumer.assignment.interval.ms`.
    pub assignment: Duration,
}

/// Sets the settings of a consumer group, which need not exist; none removes them again. Blocks.
/// A broker without the last of the settings assigns at once, and gets the others alone.
///
/// # Errors
/// No broker can be reached, or the cluster refuses the settings: the text says why.
pub fn set_group_terms(
    cluster: &Cluster,
    group: &ConsumerGroup,
    terms: Option<GroupTerms>,
) -> Result<(), KafkaError> {
    let security = Arc::new(Security::of(cluster, HANDSHAKES)?);
    let speaker = Arc::new(Speaker::of_group("tandem".to_owned(), group));
    let refused = |why: String| KafkaError::GroupSettings {
        cluster: cluster.bootstrap.clone(),
        group: group.clone(),
        why,
    };
    let mut last = "no address".to_owned();
    for address in Address::list(&cluster.bootstrap) {
        let (answers, _unused) = channel();
        let carrier = Carrier {
            address,
            socket: Arc::new(Socket::default()),
            speaker: Arc::clone(&speaker),
            security: Arc::clone(&security),
            answers,
        };
        match alter(&carrier, group, terms, true) {
            Ok(None) => return Ok(()),
            Ok(Some((INVALID, why))) if why.contains(NO_SUCH) && why.contains(ASSIGNMENT) => {
                return match alter(&carrier, group, terms, false) {
                    Ok(None) => Ok(()),
                    Ok(Some((_, why))) | Err(why) => Err(refused(why)),
                };
            }
            Ok(Some((_, why))) => return Err(refused(why)),
            Err(why) => last = why,
        }
    }
    Err(refused(last))
}

/// The error of the broker and its text, if it refuses.
fn alter(
    carrier: &Carrier,
    group: &ConsumerGroup,
    terms: Option<GroupTerms>,
    assigns: bool,
) -> Result<Option<(i16, String)>, String> {
    let mut spoken = carrier.connect().map_err(|failure| carrier.shown(failure))?;
    let change = |(name, span): (&'static str, Option<Duration>)| {
        AlterableConfig::default()
            .with_name(StrBytes::from_static_str(name))
            .with_config_operation(if span.is_some() { SET } else { DELETE })
            .with_value(span.map(|span| StrBytes::from_string(span.as_millis().to_string())))
    };
    let mut changes =
        vec![(SESSION, terms.map(|it| it.session)), (HEARTBEAT, terms.map(|it| it.heartbeat))];
    changes.extend(assigns.then(|| (ASSIGNMENT, terms.map(|it| it.assignment))));
    let resource = AlterConfigsResource::default()
        .with_resource_type(GROUP)
        .with_resource_name(StrBytes::from_string(group.to_string()))
        .with_configs(changes.into_iter().map(change).collect());
    let body = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    let body = RequestKind::IncrementalAlterConfigs(body);
    let question = carrier.speaker.other(ApiKey::IncrementalAlterConfigs, &body, &spoken.versions);
    let question = question.ok_or("the broker does not know IncrementalAlterConfigs")?;
    let answer = spoken.stream.exchange(&question).map_err(|error| error.to_string())?;
    let Some(ResponseKind::IncrementalAlterConfigs(answer)) = question.answered(answer) else {
        return Err("the broker answers something else".to_owned());
    };
    let outcome = answer.responses.first().ok_or("the broker answers nothing")?;
    let text = outcome.error_message.as_ref().map(ToString::to_string).unwrap_or_default();
    let code = outcome.error_code;
    Ok((code != 0).then(|| (code, format!("{} (error {code})", tandem_host::shown::line(&text)))))
}
