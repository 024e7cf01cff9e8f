//! Groups that elect among their members alone (`election: generation` and others): their defaults,
//! and what cannot be combined.

use std::time::Duration;

use super::election::OVER_NATS;
use super::elections::{EXCLUSIVE, exclusive, foreign_key, keys_of_neli};
use super::places::Places;
use super::{Cluster, Edges, Group, GroupSettings, Mode, Pace, Plan, Spec, defaults};
use crate::ids::{ClusterName, GroupName};
use crate::neli::elections::among::{Among, RATE};
use crate::time::Span;
use crate::yaml::Problem;
use tandem_member::usual;

/// The least session: below it the others stand before a leader that is late by a moment.
const SESSION_LEAST: Duration = Duration::from_millis(100);
/// Fewer than three outlive no death.
const MEMBERS_LEAST: u32 = 3;
/// Each is linked to each, and each partition to all.
const MEMBERS_MOST: u32 = 31;
/// The name in place of a cluster.
pub(super) fn members(name: &GroupName) -> Result<ClusterName, String> {
    format!("{name}-members").parse().map_err(|error| format!("{error}"))
}

/// The pace of such a group, in the words of a group over Kafka: a claim outlives the last sign of
/// life that counts by the threshold. What `defaults` say of Kafka does not concern it.
pub(super) fn pace(election: Among, settings: &GroupSettings) -> Pace {
    let session = settings.session.map_or(usual::SESSION, Span::get);
    let heartbeat = settings.heartbeat.map_or_else(|| usual::heartbeat(session), Span::get);
    let threshold = Span(election.threshold(session));
    let mode = if election.is_exclusive() { Mode::Exclusive } else { Mode::NonExclusive };
    Pace { mode, threshold, ..exclusive(session, heartbeat, RATE) }
}

/// What the keys of such a group say against each other.
pub(super) fn problems(
    spec: &Spec,
    (group, settings): (&Group, &GroupSettings),
    election: Among,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let (place, elects) = (places.group(name), "elects among its members");
    let written = group.cluster.as_ref().and_then(|cluster| spec.clusters.get(cluster));
    let over_nats = matches!(written, Some(Cluster::Nats(_))) && election == OVER_NATS;
    let cluster = if election == OVER_NATS {
        "it needs no Kafka: leave the key out, or name a cluster of NATS"
    } else {
        "it needs no Kafka and no store: leave the key out"
    };
    let lease = ("lease", "it belongs to `election: etcd`; this group has a `session`");
    let mut problems = Vec::new();
    if !over_nats {
        problems.extend(foreign_key(place, elects, ("cluster", cluster)));
    } else if spec.edges == Edges::Proxied {
        let message = format!("edges speak Kafka, and group `{name}` elects over NATS");
        let problem = Problem::at(places.root().key("edges").origin(), message);
        problems.push(problem.hint("write `edges: direct`"));
    }
    let mode = if election.is_exclusive() {
        EXCLUSIVE
    } else {
        "it is not exclusive: each side of a cut between its members has a leader"
    };
    problems.extend(keys_of_neli(group, place, elects, mode, &[lease]));
    if members(name).is_ok_and(|members| spec.clusters.contains_key(&members)) {
        let message = format!("cluster `{name}-members` has the name of the members of `{name}`");
        let origin = places.root().key("clusters").key(&format!("{name}-members")).name();
        problems.push(Problem::at(origin, message).hint("rename the cluster, or the group"));
    }
    problems.extend(count_problem(group, election, name, places));
    problems.extend(pace_problem(election, settings, name, places));
    problems
}

fn count_problem(
    group: &Group,
    election: Among,
    name: &GroupName,
    places: Places<'_>,
) -> Option<Problem> {
    let count = group.members.unwrap_or(defaults::MEMBERS);
    let at = |message| Problem::at(places.group(name).key("members").origin(), message);
    if MEMBERS_MOST < count {
        let message = format!("{count} members are more than {MEMBERS_MOST}");
        return Some(at(message).hint("each is linked to each; five outlive two deaths"));
    }
    // The rule for every group knows of 0.
    if !election.votes() || count == 0 {
        return None;
    }
    if count < MEMBERS_LEAST {
        let message = format!("a majority of {count} outlives no death");
        return Some(at(message).hint("three members outlive one, five outlive two"));
    }
    count.is_multiple_of(2).then(|| {
        let (less, more) = (count.saturating_sub(1), count.saturating_add(1));
        let message = format!("a majority of {count} outlives no more deaths than one of {less}");
        at(message).hint(format!("votes need an odd number of members: {less}, or {more}"))
    })
}

fn pace_problem(
    election: Among,
    settings: &GroupSettings,
    name: &GroupName,
    places: Places<'_>,
) -> Option<Problem> {
    let Pace { session, heartbeat, .. } = pace(election, settings);
    let at = |key, message| Problem::at(places.setting(name, key), message);
    if session.get() < SESSION_LEAST {
        let least = Span(SESSION_LEAST);
        return Some(
            at("session", format!("a session of {session} is less than {least}"))
                .hint("others would lead before a leader that wakes late has sent a heartbeat"),
        );
    }
    let most = Span(session.get() / 3);
    let fits = heartbeat.get() >= Duration::from_millis(1) && heartbeat <= most;
    (!fits).then(|| {
        at("heartbeat", format!("heartbeat {heartbeat} is not from 1ms to {most}"))
            .hint("at most a third of the session, or one late heartbeat ends it")
    })
}

/// The warning of a group whose election promises less than the others.
pub(super) fn unproven(plan: &Plan, name: &GroupName) -> Option<String> {
    let group = plan.groups.get(name)?;
    let election = plan.among_of(group)?;
    (!election.is_exclusive()).then(|| {
        format!(
            "`{name}`: members that do not reach each other both lead, and `{election}` gives no \
             fence that tells the later one"
        )
    })
}
