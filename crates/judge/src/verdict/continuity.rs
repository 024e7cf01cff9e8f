//! Continuity: no role lacks a leader for longer than the objective allows.

use super::judge::{blind, inexact};
use super::ruling::{Ruling, Unit, Verdict};
use super::{Brief, distribution::ms};
use crate::timeline::{Finding, Findings, Timeline};
use tandem_facts::ids::GroupName;
use tandem_facts::time::Span;

/// The rulings on `joint_gap` and, for each group, on `group_gap`, if the objective has them.
pub(super) fn judge(brief: &Brief, timeline: &Timeline) -> Vec<Ruling> {
    let joint = brief.objective.joint_gap;
    let is_played = timeline.record.is_played();
    let of_all = |most| rule(most, None, (&timeline.joint, is_played));
    let mut all: Vec<_> = joint.map(of_all).into_iter().collect();
    if let Some(most) = brief.objective.group_gap {
        let of = |(name, line): (&GroupName, &crate::timeline::GroupLine)| {
            rule(most, Some(name), (&line.findings, is_played))
        };
        all.extend(timeline.groups.iter().map(of));
    }
    all
}

fn rule(most: Span, group: Option<&GroupName>, (findings, is_played): (&Findings, bool)) -> Ruling {
    let longest = findings.gaps.iter().map(|gap| gap.span.length()).max();
    let of = if group.is_some() { "group" } else { "joint" };
    let exceeded = findings.gaps.iter().any(|gap| gap.span.length() > most.get());
    let unsure = exceeded && findings.gaps.iter().all(|gap| gap.least() <= most.get());
    let outcome = if unsure {
        Verdict::Unknown
    } else if exceeded {
        Verdict::Fail
    } else if is_played && findings.unknown_gaps.is_empty() {
        Verdict::Pass
    } else {
        Verdict::Unknown
    };
    let text = format!("{of}_gap <= {most}");
    let subject = Ruling::subject(group);
    let why = match outcome {
        Verdict::Pass => None,
        Verdict::Fail => Some(fail(&subject, most, &findings.gaps)),
        Verdict::Unknown if unsure => Some(inexact(group, &findings.gaps, &text)),
        Verdict::Unknown => Some(blind(group, &findings.unknown_gaps, &text)),
    };
    Ruling {
        text,
        group: group.cloned(),
        measured: longest.map(ms),
        limit: ms(most.get()),
        unit: Unit::Ms,
        outcome,
        why,
    }
}

fn fail(subject: &str, most: Span, gaps: &[Finding]) -> String {
    let longest = gaps.iter().map(|gap| gap.span.length()).max().unwrap_or_default();
    let longer = gaps.iter().filter(|gap| gap.span.length() > most.get());
    let count: u64 = longer.map(|gap| u64::from(gap.roles.count)).sum();
    let gaps = if count == 1 { "gap" } else { "gaps" };
    format!("{subject}: {count} {gaps} above {most}, the longest of {:.1} ms.", ms(longest))
}
