//! Draws intervals as SVG without a script: one path per style, with a minimum width, so that every
//! finding is visible.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Subject;
use super::chart::{Chart, Fold, Sublane};
use super::html::Safe;
use crate::ids::MemberId;
use crate::time::Mono;
use crate::timeline::{Finding, Interval};
use crate::topology::PlannedGroup;

/// The number of styles for members; further members reuse them.
pub(super) const LOOKS: usize = 6;
/// A lane's height, without the space below it.
pub(super) const LANE: f64 = 13.0;
/// The distance from one lane to the next.
pub(super) const STEP: f64 = 16.0;
/// The least width of a finding.
const MARK_LEAST: f64 = 1.6;

/// The place of a member in its group, which decides how it looks; one that the plan does not name
/// looks as its name says.
pub(super) fn place(group: &PlannedGroup, member: &MemberId) -> usize {
    let named = group.members.iter().position(|one| one == member);
    named.unwrap_or_else(|| member.as_str().bytes().map(usize::from).sum())
}

/// Converts time to pixels.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) window: Interval,
    pub(super) left: f64,
    pub(super) width: f64,
}

impl Scale {
    pub(super) fn x(&self, at: Mono) -> f64 {
        let all = self.window.length().as_secs_f64().max(1e-9);
        let part = at.since(self.window.from).as_secs_f64() / all;
        self.left + self.width * part.clamp(0.0, 1.0)
    }

    /// All of `spans` as one path.
    pub(super) fn path(
        &self,
        look: &str,
        spans: impl Iterator<Item = Interval>,
        (y, height, least): (f64, f64, f64),
    ) -> String {
        let shown = self.pieces(spans, least);
        if shown.is_empty() {
            return String::new();
        }
        let mut d = String::new();
        for (from, until) in shown {
            let (x, width) = (tenth(from), tenth(until - from));
            d.push_str(&format!("M{x} {}h{width}v{height}h-{width}z", tenth(y)));
        }
        format!("<path class=\"{look}\" d=\"{d}\"/>")
    }

    /// The pixel ranges of `spans`; a span hidden within the one before is merged with it.
    pub(super) fn pieces(
        &self,
        spans: impl Iterator<Item = Interval>,
        least: f64,
    ) -> Vec<(f64, f64)> {
        let mut shown: Vec<(f64, f64)> = Vec::new();
        for span in spans.map(|span| span.intersect(self.window)).filter(|it| !it.is_empty()) {
            let from = self.x(span.from);
            let until = self.x(span.until).max(from + least);
            match shown.last_mut() {
                Some(last) if from >= last.0 && from < last.1 + 0.2 => last.1 = last.1.max(until),
                Some(_) | None => shown.push((from, until)),
            }
        }
        shown
    }

    /// The findings of a lane, drawn on top of it.
    pub(super) fn marks(&self, look: &str, found: &[&Finding], y: f64) -> String {
        // A gap is taller than its lane, so that colour is not its only mark.
        let more = if look == "gap" { 1.5 } else { 0.0 };
        let spans = found.iter().map(|one| one.span);
        self.path(look, spans, (y - more, LANE + 2.0 * more, MARK_LEAST))
    }

    /// One lane of a group: its service, and its findings.
    pub(super) fn lane(&self, group: &PlannedGroup, of: &Sublane<'_>, y: f64) -> String {
        let mut members: BTreeMap<usize, Vec<Interval>> = BTreeMap::new();
        for (life, view) in &of.lane.served {
            let place = place(group, &life.member);
            members.entry(place % LOOKS).or_default().extend(view.sure.iter());
        }
        let mut svg = String::new();
        for (place, mut spans) in members {
            spans.sort_unstable();
            svg.push_str(&self.path(&format!("m{place}"), spans.into_iter(), (y, LANE, 0.3)));
        }
        svg.push_str(&self.marks("overlap", &of.marks.overlaps, y));
        svg.push_str(&self.marks("unknown", &of.marks.unknown, y));
        svg.push_str(&self.marks("gap", &of.marks.gaps, y));
        svg
    }

    /// All lanes of a fold from `y` on, with labels. Returns also where they end.
    pub(super) fn fold(
        &self,
        subject: &Subject<'_>,
        chart: &Chart<'_>,
        fold: &Fold<'_>,
        y: f64,
    ) -> (String, f64) {
        let (mut svg, mut y) = (String::new(), y);
        let trials = || subject.timeline.record.trials.iter().map(|trial| trial.window);
        for (group, lane) in chart.lanes(fold) {
            svg.push_str(&self.label(&group.name, y));
            svg.push_str(&self.path("bed", trials(), (y, LANE, 0.3)));
            svg.push_str(&self.lane(group.planned, lane, y));
            y += STEP;
        }
        svg.push_str(&self.label(&"joint", y));
        svg.push_str(&self.path("led", trials(), (y, LANE, 0.3)));
        svg.push_str(&self.marks("unknown", &fold.joint.unknown, y));
        svg.push_str(&self.marks("gap", &fold.joint.gaps, y));
        (svg, y + STEP)
    }

    fn label(&self, text: &dyn std::fmt::Display, y: f64) -> String {
        let text = short(&text.to_string());
        let (x, y) = (tenth(self.left - 6.0), tenth(y + LANE - 3.0));
        format!("<text class=\"end\" x=\"{x}\" y=\"{y}\">{}</text>", Safe(text))
    }

    /// Ticks from `zero` on, at round numbers.
    pub(super) fn axis(&self, zero: Mono, y: f64) -> String {
        let step = round_step(self.window.length(), 10);
        let first = self.window.from.since(zero).as_nanos().div_ceil(step.as_nanos().max(1));
        let mut svg = String::new();
        for place in 0..=12u32 {
            let after =
                step.saturating_mul(u32::try_from(first).unwrap_or(0).saturating_add(place));
            let at = zero + after;
            if at > self.window.until {
                break;
            }
            let x = tenth(self.x(at));
            svg.push_str(&format!(
                "<path class=\"tick\" d=\"M{x} {}v4\"/>\
                 <text class=\"mid\" x=\"{x}\" y=\"{}\">{}</text>",
                tenth(y),
                tenth(y + 15.0),
                seconds(after)
            ));
        }
        svg
    }
}

/// The smallest of 1, 2, 5, 10, 20 … (in ms) of which at most `most` fit.
pub(super) fn round_step(all: Duration, most: u32) -> Duration {
    let mut unit = Duration::from_millis(1);
    loop {
        for times in [1, 2, 5] {
            let step = unit.saturating_mul(times);
            if step.saturating_mul(most) >= all {
                return step;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// `12 s`, `0.35 s`.
fn seconds(of: Duration) -> String {
    let text = format!("{:.3}", of.as_secs_f64());
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A length in pixels, as short as it can be.
pub(super) fn tenth(of: f64) -> String {
    let text = format!("{of:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A name that fits beside a lane.
fn short(name: &str) -> String {
    const MOST: usize = 14;
    match name.chars().count() {
        0..=MOST => name.to_owned(),
        _ => name.chars().take(MOST - 1).chain(['…']).collect(),
    }
}
