//! What an exclusive election promises: no role has two leaders in its group. The verdict judges
//! that by itself, without an assertion or an objective, and by one rule for every election.
//!
//! Two claims overlap for certain only beyond the stated error of their hosts' clocks: what lies
//! within it is unknown. A fault that takes away what the promise rests on has a limit, which the
//! plan states, as of an embedded broker that comes back without its groups; an overlap within that
//! limit breaks no promise. The paper's rule promises one leader under every fault, and is not
//! sound.

use std::time::Duration;

use super::distribution::{Samples, ms};
use super::judge::{blind, inexact};
use super::ruling::{Ruling, Unit, Verdict};
use super::text::short;
use super::{Brief, Report, Statistic};
use crate::roster::{Mode, Roster};
use crate::timeline::{GroupLine, Timeline};
use tandem_facts::ids::GroupName;
use tandem_facts::time::Span;

/// The rulings on the promise, one per exclusive group.
pub(super) fn judge(brief: &Brief, roster: &Roster, timeline: &Timeline) -> Vec<Ruling> {
    let is_played = timeline.record.is_played();
    let exclusive = timeline.groups.iter().filter_map(|(name, line)| {
        let mode = roster.groups.get(name)?.mode;
        mode.forbids_overlap().then_some((name, mode, line))
    });
    let rule = |(name, mode, line)| rule((name, mode), line, limit(brief, name), is_played);
    exclusive.map(rule).collect()
}

/// The longest overlap that the faults of the experiment excuse. One without a known bound excuses
/// none.
fn limit(brief: &Brief, name: &GroupName) -> Duration {
    let limits = brief.limits.get(name);
    limits.and_then(|limits| limits.overlap).unwrap_or_default().get()
}

fn rule(
    (name, mode): (&GroupName, Mode),
    line: &GroupLine,
    limit: Duration,
    is_played: bool,
) -> Ruling {
    let text = if limit.is_zero() {
        "one leader at most, as promised".to_owned()
    } else {
        format!("one leader at most, but for {} after a fault", Span(limit))
    };
    let (found, unknown) = (&line.findings.overlaps, &line.findings.unknown_overlaps);
    let longest = Samples::of(found).statistic(Statistic::Max);
    let most = longest.unwrap_or_default();
    let sure = Samples::least(found).statistic(Statistic::Max).unwrap_or_default();
    let (outcome, why) = if sure > limit {
        (Verdict::Fail, Some(broken(name, mode, most)))
    } else if most > limit {
        (Verdict::Unknown, Some(inexact(Some(name), found, &text)))
    } else if !is_played || !unknown.is_empty() {
        (Verdict::Unknown, Some(blind(Some(name), unknown, &text)))
    } else {
        (Verdict::Pass, None)
    };
    let (group, measured, limit) = (Some(name.clone()), longest.map(ms), ms(limit));
    Ruling { text, group, measured, limit, unit: Unit::Ms, outcome, why }
}

/// Which groups promise it, and which do not; none if none does.
pub(super) fn describe(report: &Report) -> Vec<String> {
    let all = |exclusive: bool| {
        let all = report.groups.iter().filter(|(_, group)| group.exclusive == exclusive);
        let names: Vec<_> = all.map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    };
    let (exclusive, others) = (all(true), all(false));
    if exclusive.is_empty() {
        return Vec::new();
    }
    let mut phrases = vec![format!("one leader of a role at most in {exclusive}")];
    if !others.is_empty() {
        phrases.push(format!("no such promise in {others}"));
    }
    phrases
}

fn broken(name: &GroupName, mode: Mode, most: Duration) -> String {
    let had = format!("Group {name} had two leaders of a role for up to {} ms", short(ms(most)));
    match mode {
        Mode::ExclusivePaper => format!(
            "{had}: the paper's rule promises one, and broke its promise. It allows two where \
             clocks differ by more than `clock_error`, and while a member that was expelled does \
             not know that it was."
        ),
        Mode::Exclusive | Mode::NonExclusive | Mode::Fast => {
            format!("{had}: its election promises one, and broke its promise.")
        }
    }
}
