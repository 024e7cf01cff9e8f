//! IncrementalAlterConfigs (KIP-339): changes settings of topics and groups. Those of the broker
//! are fixed.

use std::collections::BTreeMap;

use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

use super::configs::{GROUP, TOPIC};
use super::error::{INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION};
use super::state::{Call, State, text};
use super::topic::Config;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;
/// The settings whose values are lists.
const LISTS: [&str; 1] = ["cleanup.policy"];

/// An error code and its reason.
pub(super) type Refusal = (i16, String);

impl State {
    pub(super) fn alter_configs(
        &mut self,
        call: &Call<'_>,
        request: IncrementalAlterConfigsRequest,
    ) -> IncrementalAlterConfigsResponse {
        let mut responses = Vec::with_capacity(request.resources.len());
        for resource in request.resources {
            let only_check = request.validate_only;
            let outcome = match resource.resource_type {
                GROUP => self.alter_group(call, &resource, only_check),
                _ => self.alter(&resource, only_check),
            };
            let response = AlterConfigsResourceResponse::default()
                .with_resource_type(resource.resource_type)
                .with_resource_name(resource.resource_name);
            responses.push(match outcome {
                Ok(()) => response.with_error_message(None),
                Err((code, why)) => {
                    response.with_error_code(code).with_error_message(Some(text(why)))
                }
            });
        }
        IncrementalAlterConfigsResponse::default().with_responses(responses)
    }

    /// All changes of a resource, or none.
    fn alter(&mut self, resource: &AlterConfigsResource, only_check: bool) -> Result<(), Refusal> {
        if resource.resource_type != TOPIC {
            return Err((
                INVALID_REQUEST,
                "only settings of topics and groups can be changed".to_owned(),
            ));
        }
        let name = resource.resource_name.as_str();
        let missing = || (UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic".to_owned());
        let topic = self.topics.get_mut(name).ok_or_else(missing)?;
        let mut given = topic.config.given.clone();
        for change in &resource.configs {
            apply(&mut given, change)?;
        }
        let config = Config::read(given).map_err(|why| (INVALID_CONFIG, why))?;
        if !only_check {
            tracing::info!(topic = %name, "Settings of a topic were changed.");
            topic.config = config;
        }
        Ok(())
    }
}

pub(super) fn apply(
    given: &mut BTreeMap<String, String>,
    change: &AlterableConfig,
) -> Result<(), Refusal> {
    let name = change.name.to_string();
    let value = || {
        let none = || (INVALID_CONFIG, format!("the new value of {name} is missing"));
        change.value.as_deref().map(str::to_owned).ok_or_else(none)
    };
    match change.config_operation {
        SET => drop(given.insert(name.clone(), value()?)),
        DELETE => drop(given.remove(&name)),
        APPEND | SUBTRACT if LISTS.contains(&name.as_str()) => {
            let value = value()?;
            let old = given.get(&name).map_or(super::topic::CLEANUP, String::as_str);
            let mut list: Vec<&str> = old.split(',').filter(|one| *one != value).collect();
            if change.config_operation == APPEND {
                list.push(&value);
            }
            let list = list.join(",");
            given.insert(name, list);
        }
        APPEND | SUBTRACT => {
            return Err((INVALID_CONFIG, format!("{name} is not a list")));
        }
        other => return Err((INVALID_REQUEST, format!("there is no operation {other}"))),
    }
    Ok(())
}
