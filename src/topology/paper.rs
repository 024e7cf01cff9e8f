//! The conditions that the paper on NELI states for its rule of exclusive leadership. They are
//! necessary, and not sufficient: `crates/neli/src/stamps.rs` says where the rule fails.

use super::places::Places;
use super::terms::RTT_BROKERS;
use super::{ClusterFacts, Finding, GroupSettings, Mode, Pace, Plan, PlannedGroup, Weight};
use crate::ids::GroupName;
use crate::time::Span;
use crate::yaml::Problem;

/// `e`, if a topology says nothing: what a network time service keeps nearby machines within.
const CLOCK_ERROR: Span = Span::ms(10);

/// `e` and `G` of a group; nothing in the other modes.
pub(super) fn times(
    settings: &GroupSettings,
    mode: Mode,
    threshold: Span,
    wake: Span,
) -> (Span, Span) {
    if mode != Mode::ExclusivePaper {
        return (Span::default(), Span::default());
    }
    let error = settings.clock_error.unwrap_or(CLOCK_ERROR);
    (error, settings.grace.unwrap_or_else(|| grace_least(threshold, error, wake)))
}

/// The `message.timestamp.type` that the rule needs.
const BROKERS_STAMPS: &str = "LogAppendTime";

/// `T + e + rtt + poll`: from the loss of a partition until its owner has certainly ended, also one
/// that learns nothing of it.
fn grace_least(threshold: Span, error: Span, wake: Span) -> Span {
    Span(threshold.get() + error.get() + RTT_BROKERS + wake.get())
}

/// The settings that belong to this mode alone, and a grace period that is too short.
pub(super) fn problems(
    settings: &GroupSettings,
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let at = |key: &str, message: String| Problem::at(places.setting(name, key), message);
    if pace.mode != Mode::ExclusivePaper {
        let set = [("clock_error", settings.clock_error), ("grace", settings.grace)];
        let stray = |(key, _): (&str, _)| {
            let message = format!("a group in {} mode has no `{key}`", pace.mode.as_str());
            at(key, message).hint("it belongs to `mode: exclusive-paper`")
        };
        return set.into_iter().filter(|(_, value)| value.is_some()).map(stray).collect();
    }
    let Pace { threshold, clock_error, wake, grace, .. } = *pace;
    let least = grace_least(threshold, clock_error, wake);
    let short = (grace < least).then(|| {
        let message = format!("grace {grace} is less than the time that an earlier owner may lead");
        let hint = format!(
            "at least {least}: threshold, clock_error, a round trip of {} and a poll of {wake}",
            Span(RTT_BROKERS)
        );
        at("grace", message).hint(hint)
    });
    short.into_iter().collect()
}

/// The condition on the threshold that a group breaks: `T + e < S` in the paper. The broker counts
/// `S` from the last heartbeat that it received, up to `h'` and a round trip before a message
/// that the same member received last.
pub(super) fn threshold_problem(
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Option<Problem> {
    let Pace { threshold, clock_error, session, heartbeat, wake, .. } = *pace;
    let at = |message: String| Problem::at(places.setting(name, "threshold"), message);
    let before = heartbeat.get() + wake.get() + RTT_BROKERS;
    let sum = threshold.get() + clock_error.get();
    let below = session.get().saturating_sub(clock_error.get() + before);
    let hint = if below.is_zero() {
        "no threshold is short enough: a longer `session`, or a shorter `heartbeat`".to_owned()
    } else {
        format!("below {}, so that a leader ends before its session does", Span(below))
    };
    if sum >= session.get() {
        let message = format!(
            "threshold {threshold} and clock_error {clock_error} are not below session {session}"
        );
        return Some(at(message).hint(hint));
    }
    (sum + before >= session.get()).then(|| {
        let message = format!(
            "threshold {threshold}, clock_error {clock_error} and {} since the last heartbeat are \
             not below session {session}",
            Span(before)
        );
        at(message).hint(hint)
    })
}

/// Whether the brokers stamp the messages of a topic that exists. Such members count no others.
pub(super) fn finding(
    name: &GroupName,
    group: &PlannedGroup,
    facts: &ClusterFacts,
) -> Option<Finding> {
    let topic = &group.topic;
    if group.pace.mode != Mode::ExclusivePaper || !facts.widths.contains_key(topic) {
        return None;
    }
    let (weight, text) = match facts.stamps.get(topic).map(String::as_str) {
        Some(BROKERS_STAMPS) => (
            Weight::Fine,
            format!("group {name}: the messages of topic {topic} have the brokers' stamps"),
        ),
        Some(stamps) => (
            Weight::Refused,
            format!(
                "group {name}: no member would lead, for the messages of topic {topic} have their \
                 senders' stamps ({stamps}): set `message.timestamp.type={BROKERS_STAMPS}` on it"
            ),
        ),
        None => (
            Weight::Warned,
            format!(
                "group {name}: cannot check whether the messages of topic {topic} have the \
                 brokers' stamps: that requires DescribeConfigs on it"
            ),
        ),
    };
    Some(Finding::new(weight, text))
}

/// What users of such groups must know.
pub(super) fn warnings(plan: &Plan) -> impl Iterator<Item = String> {
    let by_paper = plan.groups.iter().filter(|(_, it)| it.pace.mode == Mode::ExclusivePaper);
    by_paper.map(|(name, group)| {
        format!(
            "`{name}`: the paper's rule promises one leader and proves nothing: two lead where \
             clocks differ by more than {}, or while an expelled member does not know that it is; \
             `mode: exclusive` proves it",
            group.pace.clock_error
        )
    })
}
