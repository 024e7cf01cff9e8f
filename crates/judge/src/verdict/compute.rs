//! Computes the report from the facts.

use std::collections::BTreeMap;

use super::confidence_report::StoppingOutcome;
use super::distribution::{Distribution, Samples, ms};
use super::disturbed::Split;
use super::report::{
    BoundReport, BoundsReport, FaultReport, GroupReport, JointReport, LimitReport, Measures,
    Others, REPORT_VERSION, Report, Stall, Uncertainty, Worst,
};
use super::ruling::{Ruling, Verdict};
use super::{
    Brief, Limits, Statistic, confidence, continuity, judge, network, promised, recovery,
    redundancy, unseen,
};
use crate::roster::{Bound, Bounds, Range, Roster, UNLIMITED};
use crate::timeline::{
    CauseKind, Finding, GroupLine, Incident, Interval, IntervalSet, RunRecord, Timeline,
};
use tandem_facts::ids::{FaultId, GroupName};
use tandem_facts::observation::{Fact, Outcome};
use tandem_facts::time::{Mono, Span};

/// The number of longest gaps in the report.
const WORST: usize = 5;

impl Report {
    /// Computes the report from the contents of a journal.
    #[must_use]
    pub fn compute(
        roster: impl Into<Roster>,
        brief: &Brief,
        seed: u64,
        zero: Mono,
        facts: &[Fact],
    ) -> Self {
        let roster = roster.into();
        let timeline = Timeline::compute(&roster, facts);
        Self::of(roster, brief, seed, zero, &timeline)
    }

    /// Computes the report from a timeline.
    #[must_use]
    pub fn of(
        roster: impl Into<Roster>,
        brief: &Brief,
        seed: u64,
        zero: Mono,
        timeline: &Timeline,
    ) -> Self {
        let roster = &roster.into();
        // Faults, stalls and outages are those of all trials. The judgement and all numbers are
        // those of the trials that the host did not disturb.
        let record = &timeline.record;
        let outages = super::reasons::outages(timeline, zero);
        let split = Split::of(brief, roster, timeline);
        let timeline = &*split.kept;
        let (objective, assertions) = rulings(brief, roster, timeline);
        let confidence = confidence::compute(brief, timeline, roster.roles.len(), seed);
        let (mut verdict, mut reasons) =
            conclude(&timeline.record, objective.iter().chain(&assertions), true);
        for doubt in split.doubts {
            verdict = verdict.and(Verdict::Unknown);
            // If no trial is left, that explains the other reasons.
            let place = if timeline.record.trials.is_empty() { 0 } else { reasons.len() };
            reasons.insert(place, doubt);
        }
        if let Some(claim) = &confidence.stopping
            && claim.outcome != StoppingOutcome::Claimed
        {
            verdict = verdict.and(Verdict::Unknown);
            reasons.push(format!("{}.", claim.why));
        }
        let uncertainty = uncertainty(timeline);
        let widest = uncertainty.statistic(Statistic::Max);
        let trials = &timeline.record.trials;
        let ended = trials.iter().filter(|trial| trial.recovered.is_some()).count();
        let group = |(name, line): (&GroupName, &GroupLine)| {
            let exclusive = roster.groups.get(name).is_some_and(|it| it.mode.forbids_overlap());
            (name.clone(), group(line, exclusive, brief.limits.get(name)))
        };
        Self {
            version: REPORT_VERSION,
            verdict,
            reasons,
            outcome: record.ended.as_ref().map(|(how, _)| *how),
            experiment: brief.experiment.clone(),
            topology: roster.topology.clone(),
            seed,
            trials: u32::try_from(ended).unwrap_or(u32::MAX),
            trials_asked: brief.trials,
            disturbed: split.report,
            floor_ms: ms(widest.unwrap_or_default().max(timeline.tickless)),
            uncertainty_ms: Uncertainty {
                median: uncertainty.statistic(Statistic::P50).map(ms),
                max: widest.map(ms),
            },
            unknown_ms: ms(unknown(timeline).total()),
            censored: recovery::censored(timeline).map(|one| u64::from(one.roles.count)).sum(),
            groups: timeline.groups.iter().map(group).collect(),
            joint: joint(timeline, brief),
            bounds: roster
                .groups
                .iter()
                .map(|(name, g)| (name.clone(), bounds(&g.bounds)))
                .collect(),
            objective,
            assertions,
            confidence,
            worst: worst(roster, timeline, zero),
            faults: record.incidents.iter().map(|it| fault(it, (roster, record), zero)).collect(),
            stalls: record.stalls.iter().map(|one| stall(*one, zero)).collect(),
            outages,
            telemetry: None,
            up: None,
        }
    }
}

/// The rulings on the objective and on the assertions.
pub(super) fn rulings(
    brief: &Brief,
    roster: &Roster,
    timeline: &Timeline,
) -> (Vec<Ruling>, Vec<Ruling>) {
    let mut objective = continuity::judge(brief, timeline);
    objective.extend(redundancy::judge(brief, timeline));
    objective.extend(promised::judge(brief, roster, timeline));
    objective.push(recovery::judge(brief, timeline));
    let claims = brief.assertions.iter();
    (objective, claims.flat_map(|claim| judge::judge(claim, brief, timeline)).collect())
}

/// The worst of all rulings and of the faults, with the reasons. If the run is judged as a `whole`,
/// its end counts, too.
pub(super) fn conclude<'a>(
    record: &RunRecord,
    rulings: impl Iterator<Item = &'a Ruling>,
    whole: bool,
) -> (Verdict, Vec<String>) {
    let mut rulings: Vec<_> = rulings.collect();
    rulings.sort_by_key(|ruling| std::cmp::Reverse(ruling.outcome)); // failures first
    let mut reasons: Vec<String> = rulings.iter().filter_map(|ruling| ruling.why.clone()).collect();
    let mut verdict = rulings.first().map_or(Verdict::Pass, |worst| worst.outcome);
    let failed = record.incidents.iter().filter_map(|(id, one)| Some((id, one.failed.as_ref()?)));
    let failed = failed.map(|(id, why)| format!("Fault {id} failed: {why}."));
    let ended = match &record.ended {
        Some((Outcome::Completed, _)) => None,
        Some((how, why)) => {
            let how = match how {
                Outcome::Completed | Outcome::Broken => "could not go on",
                Outcome::Aborted => "was ended by a stop condition or a limit",
                Outcome::Interrupted => "was interrupted",
                Outcome::Unhealed => "left something that could not be healed",
            };
            let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            Some(format!("The run {how}{why}."))
        }
        None => Some("The run was cut off: its journal has no end.".to_owned()),
    };
    for reason in failed {
        verdict = verdict.and(Verdict::Unknown);
        reasons.push(reason);
    }
    for reason in unseen::reasons(record) {
        verdict = verdict.and(Verdict::Unknown);
        reasons.insert(0, reason);
    }
    if let Some(reason) = ended.filter(|_| whole) {
        verdict = verdict.and(Verdict::Unknown);
        // The end of the run explains the other reasons.
        reasons.insert(0, reason);
    }
    (verdict, reasons)
}

fn uncertainty(timeline: &Timeline) -> Samples {
    let groups = timeline.groups.values().map(|line| &line.findings);
    let gaps = groups.flat_map(|of| &of.gaps);
    gaps.map(|gap| (gap.uncertainty, u64::from(gap.roles.count))).collect()
}

fn unknown(timeline: &Timeline) -> IntervalSet {
    let groups = timeline.groups.values().map(|line| line.findings.unknown());
    groups.fold(timeline.joint.unknown(), |sum, one| sum.union(&one))
}

fn group(line: &GroupLine, exclusive: bool, limits: Option<&Limits>) -> GroupReport {
    let of = |kind: CauseKind| {
        let some = |all: &[Finding]| {
            let all = all.iter().filter(|finding| finding.cause.kind().0 == kind);
            Samples::of(all).distribution()
        };
        let found = &line.findings;
        Measures {
            gap: some(&found.gaps),
            overlap: some(&found.overlaps),
            takeover: some(&found.takeovers),
        }
    };
    let fault = of(CauseKind::Fault);
    GroupReport {
        fault,
        other: Others {
            restart: of(CauseKind::Restart),
            broker: of(CauseKind::Broker),
            death: of(CauseKind::Death),
            stop: of(CauseKind::Stop),
            connection: of(CauseKind::Connection),
            leave: of(CauseKind::Leave),
            start: of(CauseKind::Start),
            none: of(CauseKind::None),
        },
        exclusive,
        limit: limit(limits, fault.gap, fault.overlap),
        unknown_ms: ms(line.findings.unknown().total()),
    }
}

fn joint(timeline: &Timeline, brief: &Brief) -> JointReport {
    let all = |found: &[Finding]| Samples::of(found).distribution();
    let (gap, overlap) = (all(&timeline.joint.gaps), all(&timeline.joint.overlaps));
    JointReport {
        gap,
        overlap,
        leaders_min: timeline.leaders_min,
        limit: limit(Some(&brief.joint), gap, overlap),
        unknown_ms: ms(timeline.joint.unknown().total()),
    }
}

fn limit(limits: Option<&Limits>, gaps: Distribution, overlaps: Distribution) -> LimitReport {
    let known = |limit: Option<Span>| limit.map(|span| ms(span.get()));
    let Limits { gap, overlap } = limits.copied().unwrap_or(Limits::NONE);
    let (gap_ms, overlap_ms) = (known(gap), known(overlap));
    let limited = |limit: &f64| *limit < ms(UNLIMITED);
    let slack = |limit: Option<f64>, of: Distribution| Some(limit.filter(limited)? - of.max_ms?);
    LimitReport {
        gap_ms,
        overlap_ms,
        gap_slack_ms: slack(gap_ms, gaps),
        overlap_slack_ms: slack(overlap_ms, overlaps),
    }
}

fn bounds(of: &Bounds) -> BoundsReport {
    let range = |range: Range| [ms(range.low.get()), ms(range.high.get())];
    let one = |b: Bound| BoundReport { gap_ms: range(b.gap), overlap_ms: range(b.overlap) };
    BoundsReport {
        kill: one(of.kill),
        leave: one(of.leave),
        isolation: one(of.cut_off()),
        pause: one(of.pause),
        restart: one(of.restart),
        silence: of.silence.map(one),
        link: of.link.map(one),
        links_and_brokers: of.links_and_brokers.map(one),
        broker: one(of.broker),
    }
}

fn worst(roster: &Roster, timeline: &Timeline, zero: Mono) -> Vec<Worst> {
    // Roles on the same partition share its gaps.
    let mut gaps: BTreeMap<(&GroupName, Interval), Vec<&Finding>> = BTreeMap::new();
    for (name, line) in &timeline.groups {
        for gap in &line.findings.gaps {
            gaps.entry((name, gap.span)).or_default().push(gap);
        }
    }
    let mut gaps: Vec<_> = gaps.into_iter().collect();
    gaps.sort_by_key(|((_, span), _)| std::cmp::Reverse(span.length()));
    let describe = |((group, span), roles): ((&GroupName, Interval), Vec<&Finding>)| {
        let first = *roles.first()?;
        let (kind, by) = first.cause.kind();
        let stalls = timeline.record.stalls.iter().filter(|one| !one.intersect(span).is_empty());
        Some(Worst {
            role: roster.roles.name(first.roles.first)?,
            roles: roles.iter().map(|gap| u64::from(gap.roles.count)).sum(),
            group: group.clone(),
            trial: first.trial,
            from_ms: ms(span.from.since(zero)),
            duration_ms: ms(span.length()),
            uncertainty_ms: ms(first.uncertainty),
            censored: first.censored,
            cause: kind,
            by,
            stall: stalls.max_by_key(|one| one.length()).map(|one| stall(*one, zero)),
        })
    };
    gaps.into_iter().take(WORST).filter_map(describe).collect()
}

fn fault(
    (id, one): (&FaultId, &Incident),
    (roster, record): (&Roster, &RunRecord),
    zero: Mono,
) -> FaultReport {
    let at = |at: Mono| ms(at.since(zero));
    FaultReport {
        id: id.clone(),
        kind: one.kind.clone(),
        class: one.class,
        trial: id.trial,
        target: one.targets.clone(),
        asked_ms: at(one.asked),
        in_force_ms: one.in_force.map(at),
        healed_ms: one.healed.map(at),
        reconnected_ms: one.reconnected.map(at),
        rejoined_ms: network::rejoined(one, roster, record).map(at),
        skew_ms: one.skew.map(ms),
        failed: one.failed.clone(),
    }
}

fn stall(of: Interval, zero: Mono) -> Stall {
    Stall { from_ms: ms(of.from.since(zero)), until_ms: ms(of.until.since(zero)) }
}
