//! Runs made of facts: trials that pass or fail, and a host that stalls.

use std::time::Duration;

use tandem::observation::RunEvent;
use tandem::time::Span;
use tandem::topology::Plan;
use tandem::verdict::{Brief, Disturbed, Report, Verdict};

use support::facts::{Story, at, brief, plan};

pub(crate) const STALL: Duration = Duration::from_millis(50);
/// A trial lasts two seconds, and the next begins a second later.
pub(crate) const TRIAL: u64 = 3_000;

pub(crate) fn rule(replace: u32) -> Option<Disturbed> {
    Some(Disturbed { stall: Span(STALL), replace })
}

pub(crate) fn one_group() -> Plan {
    plan(1, &[("p1", 1, 2)])
}

/// So many trials are asked for, in which no gap may be longer than 200 ms.
pub(crate) fn asked(trials: u32, replace: u32) -> Brief {
    let plan = one_group();
    Brief { disturbed: rule(replace), ..brief(&plan, trials, &["group.gap.max <= 200ms"]) }
}

pub(crate) fn ns(ms: u64) -> u64 {
    ms * 1_000_000
}

/// Trials in which one member leads all the time, but for half a second in those that fail.
pub(crate) fn trials(count: u32, failing: &[u32], windows: impl Fn(u32) -> bool) -> Story {
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p1-2.1", 10).settled("p1", 50);
    let mut from = 100;
    for number in 1..=count {
        let base = u64::from(number) * TRIAL;
        if failing.contains(&number) {
            let term = number;
            story.serves("p1-1.1", 0, term, [from, base + 1_000]);
            story.lapsed("p1-1.1", base + 1_000, (0, term), base + 1_000);
            from = base + 1_500;
        }
    }
    let end = u64::from(count + 1) * TRIAL;
    story.serves("p1-1.1", 0, count + 1, [from, end]);
    for number in (1..=count).filter(|number| windows(*number)) {
        let base = u64::from(number) * TRIAL;
        story.began(base, number).ended(base + 2_000, number);
    }
    story
}

/// The controller looks at the processors at these instants, and others had so much of what was
/// used, in percent.
pub(crate) fn look(story: &mut Story, [from, until]: [u64; 2], outside: u64) {
    let busy_ns = ns(until - from);
    let own_ns = busy_ns * (100 - outside) / 100;
    let (from, until) = (at(from), at(until));
    story.run(
        until.0 / 1_000_000,
        RunEvent::Processors { from, until, busy_ns, own_ns, stolen_ns: 0 },
    );
}

/// The canary runs late by so many ms from half a second into the trial on, waiting all the time.
pub(crate) fn stalled(story: &mut Story, trial: u32, late: u64, outside: u64) {
    let from = u64::from(trial) * TRIAL + 500;
    let (waited_ns, until) = (Some(ns(late)), from + late);
    story.run(until, RunEvent::Stall { from: at(from), until: at(until), waited_ns });
    look(story, [from - 50, until], outside);
}

pub(crate) fn judged(brief: &Brief, mut story: Story, count: u32) -> Report {
    story.completed(u64::from(count + 1) * TRIAL);
    Report::compute(&one_group(), brief, 42, at(10), &story.facts)
}

pub(crate) fn numbers(report: &Report) -> Vec<(u32, Verdict)> {
    let disturbed = report.disturbed.as_ref().unwrap();
    disturbed.trials.iter().map(|one| (one.trial.0, one.outcome)).collect()
}
