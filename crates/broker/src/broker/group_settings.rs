//! The settings of a group, which DescribeConfigs and IncrementalAlterConfigs call resources of
//! type 32 (KIP-848). The group need not exist.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::messages::incremental_alter_configs_request::AlterConfigsResource;

use super::alter::{Refusal, apply};
use super::configs::{Entry, Source};
use super::error::{INVALID_CONFIG, INVALID_REQUEST};
use super::state::{Call, State};
use crate::groups::consumer::GroupOverrides;

/// How soon a target assignment follows another: at once, and nothing else.
const ASSIGNMENT: &str = "consumer.assignment.interval.ms";
const HEARTBEAT: &str = "consumer.heartbeat.interval.ms";
const SESSION: &str = "consumer.session.timeout.ms";

impl State {
    pub(super) fn group_entries(&self, group: &str) -> Vec<Entry> {
        let overrides = self.coordinator.overrides(group);
        let broker = &self.settings.groups.consumer;
        let entry = |name: &str, own: Option<Duration>, default: Duration| {
            let source = if own.is_some() { Source::DynamicGroup } else { Source::Default };
            (name.to_owned(), own.unwrap_or(default).as_millis().to_string(), source)
        };
        vec![
            entry(ASSIGNMENT, None, Duration::ZERO),
            entry(HEARTBEAT, overrides.heartbeat, broker.heartbeat),
            entry(SESSION, overrides.session, broker.session),
        ]
    }

    /// All changes of a group, or none.
    pub(super) fn alter_group(
        &mut self,
        call: &Call<'_>,
        resource: &AlterConfigsResource,
        only_check: bool,
    ) -> Result<(), Refusal> {
        let group = resource.resource_name.as_str();
        if group.is_empty() {
            return Err((INVALID_REQUEST, "the settings of a group need its name".to_owned()));
        }
        let old = self.coordinator.overrides(group);
        let values = [(HEARTBEAT, old.heartbeat), (SESSION, old.session)];
        let mut given: BTreeMap<String, String> = values
            .into_iter()
            .filter_map(|(name, span)| Some((name.to_owned(), span?.as_millis().to_string())))
            .collect();
        for change in &resource.configs {
            apply(&mut given, change)?;
        }
        let overrides = read(&given).map_err(|why| (INVALID_CONFIG, why))?;
        let outcome = if only_check {
            self.coordinator.check_overrides(overrides)
        } else {
            tracing::info!(%group, "Settings of a group were changed.");
            self.coordinator.handle_overrides(call.now, group, overrides)
        };
        outcome.map_err(|fault| (fault.code(), fault.to_string()))
    }
}

fn read(given: &BTreeMap<String, String>) -> Result<GroupOverrides, String> {
    let mut overrides = GroupOverrides::default();
    for (name, value) in given {
        let wrong = || format!("Invalid value {value} for configuration {name}");
        let span = Duration::from_millis(value.parse().map_err(|_| wrong())?);
        match name.as_str() {
            ASSIGNMENT if span.is_zero() => {}
            ASSIGNMENT => return Err(wrong()),
            HEARTBEAT => overrides.heartbeat = Some(span),
            SESSION => overrides.session = Some(span),
            _ => return Err(format!("Unknown group config name: {name}")),
        }
    }
    Ok(overrides)
}
