//! Which faults hit which groups, by step of the method and one by one.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Subject;
use super::chart::Chart;
use super::html::{length, milliseconds, table};
use super::tables::section;
use crate::ids::FaultId;
use crate::timeline::{Cause, Finding, Findings};
use crate::verdict::FaultReport;

/// The most faults that are listed one by one.
const FAULTS_MAX: usize = 300;

/// What one fault, or the faults of one step, cost a group.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    gaps: u64,
    gap: Duration,
    overlaps: u64,
    overlap: Duration,
}

/// What each fault cost, by the index of the group; all groups together last.
type Costs = BTreeMap<FaultId, Vec<Cost>>;

/// The section.
pub(super) fn hits(subject: &Subject<'_>, chart: &Chart<'_>) -> String {
    let report = subject.report;
    if report.faults.is_empty() {
        return section("hits", "What hit what", "<p>No fault was injected.</p>\n");
    }
    let costs = costs(subject, chart);
    let mut steps: BTreeMap<(String, &str), Vec<&FaultReport>> = BTreeMap::new();
    for fault in &report.faults {
        steps.entry((fault.id.step.to_string(), &fault.kind)).or_default().push(fault);
    }
    let names: Vec<_> = chart.groups.iter().map(|group| group.name.as_str()).collect();
    let mut head = vec!["step", "fault", "times"];
    head.extend(names.iter().copied().chain(["joint"]));
    let places = names.len() + 1;
    let step = |((step, kind), faults): (&(String, &str), &Vec<&FaultReport>)| {
        let each = (0..places).map(|place| {
            let of = faults.iter().filter_map(|fault| costs.get(&fault.id)?.get(place));
            of.fold(Cost::default(), Cost::and).describe()
        });
        vec![step.clone(), (*kind).to_owned(), faults.len().to_string()]
            .into_iter()
            .chain(each)
            .collect()
    };
    let steps = table("Faults and what began after them, by group", &head, steps.iter().map(step));
    let mut head = vec!["fault", "kind", "targets", "asked for", "in force after", "healed after"];
    head.extend(names.iter().copied().chain(["joint", "failed"]));
    let one = |fault: &FaultReport| {
        let after = |at: Option<f64>| milliseconds(at.map(|at| at - fault.asked_ms));
        let (asked, targets) = (format!("{:.3} s", fault.asked_ms / 1e3), fault.target.join(", "));
        let all = costs.get(&fault.id);
        let each = (0..places)
            .map(|place| all.and_then(|of| of.get(place)).map_or_else(String::new, Cost::describe));
        let first = [fault.id.to_string(), fault.kind.clone(), targets, asked];
        let when = [after(fault.in_force_ms), after(fault.healed_ms)];
        let failed = fault.failed.clone().unwrap_or_default();
        first.into_iter().chain(when).chain(each).chain([failed]).collect()
    };
    // Failed faults are always listed.
    let mut all: Vec<_> = report.faults.iter().collect();
    all.sort_by_key(|fault| fault.failed.is_none());
    let (shown, more) = (all.len().min(FAULTS_MAX), all.len().saturating_sub(FAULTS_MAX));
    let caption = format!("The faults one by one, {shown} of {}", all.len());
    let rows = table(&caption, &head, all.into_iter().take(FAULTS_MAX).map(one));
    let more = if more > 0 { "<p class=\"note\">The others are in result.json.</p>" } else { "" };
    let body =
        format!("{steps}<details><summary>The faults one by one</summary>{rows}{more}</details>\n");
    section("hits", "What hit what", &body)
}

fn costs(subject: &Subject<'_>, chart: &Chart<'_>) -> Costs {
    let places = chart.groups.len() + 1;
    let mut costs = Costs::new();
    for id in subject.timeline.record.incidents.keys() {
        costs.insert(id.clone(), vec![Cost::default(); places]);
    }
    let all = chart.groups.iter().map(|group| &group.line.findings);
    for (place, found) in all.chain([&subject.timeline.joint]).enumerate() {
        add(&mut costs, place, found);
    }
    costs
}

fn add(costs: &mut Costs, place: usize, found: &Findings) {
    let mut each = |all: &[Finding], add: fn(&mut Cost, Duration, u64)| {
        for one in all {
            let Cause::Fault(id) = &one.cause else { continue };
            if let Some(cost) = costs.get_mut(id).and_then(|of| of.get_mut(place)) {
                add(cost, one.span.length(), u64::from(one.roles.count));
            }
        }
    };
    each(&found.gaps, |cost, length, roles| {
        cost.gaps += roles;
        cost.gap = cost.gap.max(length);
    });
    each(&found.overlaps, |cost, length, roles| {
        cost.overlaps += roles;
        cost.overlap = cost.overlap.max(length);
    });
}

impl Cost {
    fn and(self, other: &Self) -> Self {
        Self {
            gaps: self.gaps + other.gaps,
            gap: self.gap.max(other.gap),
            overlaps: self.overlaps + other.overlaps,
            overlap: self.overlap.max(other.overlap),
        }
    }

    fn describe(&self) -> String {
        let one = |number: u64, noun: &str, longest: Duration| {
            let many = if number == 1 { "" } else { "s" };
            (number > 0).then(|| format!("{number} {noun}{many}, to {}", length(longest)))
        };
        let gaps = one(self.gaps, "gap", self.gap);
        let overlaps = one(self.overlaps, "overlap", self.overlap);
        let parts: Vec<_> = gaps.into_iter().chain(overlaps).collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
    }
}
