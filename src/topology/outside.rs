//! Groups whose members Tandem does not start: whether experiments may hit these, the topics by
//! which facts and orders travel, and what cannot be combined.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::places::Places;
use super::{Group, Launch, Plan, PlannedGroup};
use crate::ids::{NameError, TopicName};
use crate::yaml::{Cursor, Problem};

/// Whether experiments may hit the members of a group that Tandem did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Chaos {
    /// They take no orders.
    #[default]
    Refused,
    /// The witness of each member takes the orders of an experiment.
    Allowed,
}

impl Chaos {
    /// Whether they take no orders.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        *self == Self::Refused
    }
}

impl PlannedGroup {
    /// Whether its members, which Tandem did not start, take the orders of experiments.
    #[must_use]
    pub fn takes_orders(&self) -> bool {
        !self.is_started() && !self.chaos.is_refused()
    }
}

impl Plan {
    /// The topic by which the facts of members travel that Tandem does not start; the same name on
    /// each cluster.
    ///
    /// # Errors
    /// The topology's name is too long for it.
    pub fn facts_topic(&self) -> Result<TopicName, NameError> {
        format!("{}-facts", self.topology).parse()
    }

    /// The topic by which the orders of experiments travel to these members, likewise; none if no
    /// group takes orders.
    #[must_use]
    pub fn orders_topic(&self) -> Option<TopicName> {
        let taken = self.groups.values().any(PlannedGroup::takes_orders);
        taken.then(|| format!("{}-orders", self.topology).parse().ok()).flatten()
    }

    /// The topics of members that Tandem does not start.
    #[must_use]
    pub fn outside_topics(&self) -> Vec<TopicName> {
        let facts = self.facts_topic().ok().filter(|_| self.has_external());
        facts.into_iter().chain(self.orders_topic()).collect()
    }
}

/// What is written of a group, and does not go together.
pub(super) fn problem(group: &Group, place: Cursor<'_>) -> Option<Problem> {
    match (group.launch.unwrap_or_default(), group.members, group.chaos) {
        (Launch::External, Some(count), _) => {
            let message = format!("Tandem starts no member of this group, and {count} are written");
            let hint = "leave `members` out: each `tandem hold` is one";
            Some(Problem::at(place.key("members").origin(), message).hint(hint))
        }
        (Launch::Tandem, _, Some(_)) => {
            let message = "Tandem starts the members of this group, so experiments may hit them";
            let hint = "leave `chaos` out: it is for groups with `launch: external`";
            Some(Problem::at(place.key("chaos").origin(), message).hint(hint))
        }
        (Launch::External, None, _) | (Launch::Tandem, _, None) => None,
    }
}

/// No ledger has the name of such a topic.
pub(super) fn topics(plan: &Plan, places: Places<'_>) -> Option<Problem> {
    let topics = plan.outside_topics();
    let (name, group) = plan.groups.iter().find(|(_, group)| topics.contains(&group.topic))?;
    let whose = match plan.facts_topic() {
        Ok(facts) if facts == group.topic => "facts of",
        Ok(_) | Err(_) => "orders to",
    };
    let topic = &group.topic;
    let message = format!("topic `{topic}` is for the {whose} members that Tandem does not start");
    let place = places.group(name);
    let key = place.key("topic");
    let origin = if key.exists() { key.origin() } else { place.name() };
    Some(Problem::at(origin, message).hint("name another `topic` for the group"))
}
