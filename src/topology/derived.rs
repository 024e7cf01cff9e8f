//! Names that are derived from others come apart again.
//!
//! A group that names no `consumer_group` or `topic` has both as TOPOLOGY-GROUP. Brokers are
//! shared, and names may have dashes: `prod-eu-p1` would be group `p1` of `prod-eu` and group
//! `eu-p1` of `prod`, and the members of both would be in one consumer group. So the last dash
//! parts them, and a group whose name has one is refused, unless it says what it means. The
//! subjects of NATS have dots in this place. An embedded broker is no other topology's.

use super::places::Places;
use super::{Address, Plan};
use crate::ids::{GroupName, MemberId};
use crate::yaml::Problem;

impl Plan {
    /// Another group of the plan, and the name of a member of it, as which the member `name` of
    /// `group` is read: in the facts of a topology it is GROUP-NAME.
    #[must_use]
    pub fn read_as<'a>(
        &'a self,
        group: &GroupName,
        name: &MemberId,
    ) -> Option<(&'a GroupName, String)> {
        let joined = format!("{group}-{name}");
        // The longest name of a group that it begins with is its group.
        let longer = |other: &&GroupName| other.as_str().len() > group.as_str().len();
        let read = self.groups.keys().filter(longer).filter_map(|other| {
            let rest = joined.strip_prefix(other.as_str())?.strip_prefix('-')?;
            (!rest.is_empty()).then(|| (other, rest.to_owned()))
        });
        read.max_by_key(|(other, _)| other.as_str().len())
    }
}

/// The groups of the plan that another topology could have by the same derived name.
pub(super) fn problems(plan: &Plan, places: Places<'_>) -> Vec<Problem> {
    let of = |name: &GroupName| {
        let cluster = plan.clusters.get(&plan.groups.get(name)?.cluster)?;
        match &cluster.address {
            Address::Bootstrap(_) => joined(plan, places, name),
            Address::Nats(_) => {
                let hint = "take a name without a dot for the group";
                ambiguous(plan, places, (name, '.'), ("subject", plan.subject(name)), hint)
            }
            Address::Embedded | Address::Etcd(_) | Address::ZooKeeper(_) | Address::Members(_) => {
                None
            }
        }
    };
    plan.groups.keys().filter_map(of).collect()
}

fn joined(plan: &Plan, places: Places<'_>, name: &GroupName) -> Option<Problem> {
    let group = plan.groups.get(name)?;
    let place = places.group(name);
    let derived =
        [("consumer_group", group.consumer_group.to_string()), ("topic", group.topic.to_string())];
    let missing = derived.iter().filter(|(key, _)| !place.key(key).exists());
    let named: Vec<String> =
        missing.clone().map(|(key, value)| format!("{key}: {value}")).collect();
    let (key, value) = missing.into_iter().next()?;
    let hint = format!(
        "name what is meant, as in {{{}}}, or take a name without a dash for the group",
        named.join(", ")
    );
    ambiguous(plan, places, (name, '-'), (&key.replace('_', " "), value.clone()), &hint)
}

/// The problem of a group's name that has `between`, by which it is joined to its topology's.
fn ambiguous(
    plan: &Plan,
    places: Places<'_>,
    (name, between): (&GroupName, char),
    (what, value): (&str, String),
    hint: &str,
) -> Option<Problem> {
    let topology = &plan.topology;
    let (before, after) = name.as_str().rsplit_once(between)?;
    let message = format!(
        "{what} `{value}` is that of group `{name}` of topology `{topology}`, and also that of \
         group `{after}` of topology `{topology}{between}{before}`"
    );
    Some(Problem::at(places.group(name).name(), message).hint(hint))
}

#[cfg(test)]
mod tests {
    use crate::topology::plan;

    #[test]
    fn a_member_is_read_as_one_of_another_group_only_where_that_is_there() {
        let text = "version: 1\nname: t\nroles: [r]\nclusters: {k: embedded}\n\
                    groups: {a: {cluster: k}, a-b: {cluster: k}, c: {cluster: k}}\n";
        let plan = plan(text, &[]).unwrap();
        let read = |group: &str, name: &str| {
            let read = plan.read_as(&group.parse().unwrap(), &name.parse().unwrap());
            read.map(|(other, rest)| format!("{other} {rest}"))
        };
        assert_eq!(read("a", "b-c").as_deref(), Some("a-b c"));
        for (group, name) in [("a-b", "c"), ("a", "b"), ("a", "bc"), ("a", "b-"), ("c", "a-b")] {
            assert_eq!(read(group, name), None, "{group} {name}");
        }
    }
}
