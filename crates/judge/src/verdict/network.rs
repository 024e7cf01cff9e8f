//! The effect of network faults: how soon brokers answered members again, or members that elect
//! among themselves reached each other, and the distance of gaps and overlaps from their bounds.

use super::report::{FaultReport, LimitReport, Report};
use super::text::short;
use crate::roster::Roster;
use crate::timeline::{Incident, RunRecord};
use tandem_facts::ids::Life;
use tandem_facts::observation::FaultClass;
use tandem_facts::time::Mono;

/// When the last of the victims without brokers said that it reaches the others again. It says
/// nothing else while it is cut off.
pub(super) fn rejoined(one: &Incident, roster: &Roster, record: &RunRecord) -> Option<Mono> {
    if one.class != FaultClass::Intercepts {
        return None;
    }
    let since = one.in_force.filter(|_| one.healed.is_some())?;
    let lives = one.targets.iter().filter_map(|target| Life::try_from(target.clone()).ok());
    let alone = lives.filter(|life| {
        let group = roster.group_of(&life.member).and_then(|name| roster.groups.get(name));
        group.is_some_and(|group| group.alone)
    });
    alone.filter_map(|life| record.connected.get(&life)?.range(since..).next().copied()).max()
}

/// The phrases; none if there was no such fault.
pub(super) fn describe(report: &Report) -> Vec<String> {
    let between = |one: &&FaultReport| one.class == FaultClass::Intercepts;
    let faults = report.faults.iter().filter(between);
    let healed: Vec<&FaultReport> = faults.filter(|one| one.healed_ms.is_some()).collect();
    if healed.is_empty() {
        return Vec::new();
    }
    let slowest = |of: fn(&FaultReport) -> Option<f64>| {
        // The first answer may pass after the rule is lifted and before the heal is stamped.
        let after = healed.iter().filter_map(|one| Some((of(one)? - one.healed_ms?).max(0.0)));
        after.reduce(f64::max).map(short)
    };
    let mut phrases = Vec::new();
    let answered = slowest(|one| one.reconnected_ms);
    phrases.extend(answered.map(|most| format!("answered again {most} ms after the heal")));
    let rejoined = slowest(|one| one.rejoined_ms);
    let text = |most| format!("members reached each other again {most} ms after the heal");
    phrases.extend(rejoined.map(text));
    let silent = |one: &&&FaultReport| one.reconnected_ms.or(one.rejoined_ms).is_none();
    let never = healed.iter().filter(silent).count();
    if never > 0 {
        phrases.push(format!("no answer was seen after {never} of {} heals", healed.len()));
    }
    let slack = |what: &str, of: fn(&LimitReport) -> Option<f64>| {
        let all = report.groups.values().filter_map(|group| of(&group.limit));
        let least = all.reduce(f64::min)?;
        let side = if least < 0.0 { "above" } else { "below" };
        Some(format!("longest {what} {} ms {side} its bound", short(least.abs())))
    };
    phrases.extend(slack("gap", |limit| limit.gap_slack_ms));
    phrases.extend(slack("overlap", |limit| limit.overlap_slack_ms));
    phrases
}
