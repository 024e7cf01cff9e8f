//! Distributions: few samples as points, many as a histogram, each with its bound.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Subject;
use super::chart::{Chart, Group};
use super::disturbed::disturbed_trials;
use super::drawing::{round_step, tenth};
use super::html::{Safe, count, is_unlimited, milliseconds, number};
use crate::ids::TrialNumber;
use crate::timeline::{Cause, Finding};
use crate::verdict::{Distribution, LimitReport, Samples, float, ms};

/// The most samples drawn as points; more are drawn as bars.
const POINTS_MAX: u64 = 80;
const BARS: usize = 48;
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 64.0;

/// What the points mean if the host disturbed a trial.
const DISTURBED: &str = " A dashed diamond, or the dashed top of a bar, is of a trial that the \
                         host disturbed: it does not count in the numbers.";

/// One plot: its title, its samples, and the bound with its slack.
struct Plot<'a> {
    title: String,
    found: Vec<&'a Finding>,
    /// The trials whose samples do not count, since the host disturbed them.
    off: &'a BTreeSet<TrialNumber>,
    bound: Option<f64>,
}

/// The section.
pub(super) fn section(subject: &Subject<'_>, chart: &Chart<'_>) -> String {
    let (off, none) = (disturbed_trials(subject.report), BTreeSet::new());
    let legend = if off.is_empty() { "" } else { DISTURBED };
    let mut html = format!(
        "<section id=\"distributions\" aria-labelledby=\"dist-h\"><h2 id=\"dist-h\">How \
        long</h2>\n<p>One sample a role and interval. Points, or bars where there are many; filled \
        after a fault, hollow after another cause, a cross without one. \
        The dashed line is the bound that follows from the configuration, for faults of this \
        experiment.{legend}</p>\n\
        <div class=\"plots\">"
    );
    // A disturbed host excuses no overlap in an exclusive group.
    let bound = |group: &Group<'_>| group.planned.pace.mode.forbids_overlap();
    let offs = |is_bound: bool| [&off, if is_bound { &none } else { &off }, &off];
    for group in &chart.groups {
        let limit = subject.report.groups.get(group.name).map(|group| group.limit);
        let found = &group.line.findings;
        let name = group.name.as_str();
        let all = [&found.gaps, &found.overlaps, &found.takeovers];
        html.push_str(&three(name, all, offs(bound(group)), limit));
    }
    let joint = &subject.timeline.joint;
    let limit = Some(subject.report.joint.limit);
    let all = [&joint.gaps, &joint.overlaps, &joint.takeovers];
    html.push_str(&three("joint", all, offs(chart.groups.iter().any(bound)), limit));
    html.push_str("</div>\n");
    html.push_str(&super::tables::numbers(subject));
    html.push_str("</section>\n");
    html
}

fn three(
    name: &str,
    of: [&Vec<Finding>; 3],
    offs: [&BTreeSet<TrialNumber>; 3],
    limit: Option<LimitReport>,
) -> String {
    let bounds = [limit.and_then(|it| it.gap_ms), limit.and_then(|it| it.overlap_ms), None];
    let bounds = bounds.map(|bound| bound.filter(|it| !is_unlimited(*it)));
    let all =
        ["gaps", "overlaps", "takeovers"].into_iter().zip(of).zip(offs.into_iter().zip(bounds));
    let plots = all.filter(|((kind, _), _)| !(name == "joint" && *kind == "takeovers"));
    let plot = |((kind, found), (off, bound)): ((&str, &Vec<Finding>), (_, _))| {
        let found = found.iter().collect();
        Plot { title: format!("{name}: {kind}"), found, off, bound }.draw()
    };
    plots.map(plot).collect()
}

impl Plot<'_> {
    fn draw(&self) -> String {
        let numbers = Samples::of(self.found.iter().copied()).distribution();
        let title = Safe(&self.title);
        let text = self.text();
        if self.found.is_empty() {
            return format!(
                "<figure class=\"plot\"><figcaption><b>{title}</b> {}</figcaption></figure>\n",
                Safe(text)
            );
        }
        let most = numbers.max_ms.unwrap_or(0.0).max(self.bound.unwrap_or(0.0)).max(1.0) * 1.04;
        let x = |value: f64| 8.0 + (WIDTH - 16.0) * (value / most).clamp(0.0, 1.0);
        let many = numbers.count > POINTS_MAX;
        let mut svg = if many { self.bars(most) } else { self.points(&x) };
        if let Some(bound) = self.bound {
            let x = tenth(x(bound));
            svg.push_str(&format!("<path class=\"bound\" d=\"M{x} 2V{HEIGHT}\"/>"));
        }
        svg.push_str(&format!("<path class=\"tick\" d=\"M8 {HEIGHT}H{}\"/>", WIDTH - 8.0));
        let step = round_step(Duration::from_secs_f64(most / 1e3), 5);
        for place in 0..=6 {
            let value = ms(step.saturating_mul(place));
            if value > most {
                break;
            }
            let (at, y) = (tenth(x(value)), HEIGHT + 14.0);
            let tick = format!("<path class=\"tick\" d=\"M{at} {HEIGHT}v4\"/>");
            svg.push_str(&tick);
            let anchor = if place == 0 { "" } else { " class=\"mid\"" };
            let unit = if place == 0 { " ms" } else { "" };
            svg.push_str(&format!(
                "<text{anchor} x=\"{at}\" y=\"{y}\">{}{unit}</text>",
                tenth(value)
            ));
        }
        format!(
            "<figure class=\"plot\"><figcaption><b>{title}</b> {text}</figcaption>\
             <svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{title}: {text}\">{svg}\
             </svg></figure>\n",
            HEIGHT + 18.0,
            text = Safe(text),
        )
    }

    /// Whether a sample is of a trial that does not count.
    fn is_off(&self, one: &Finding) -> bool {
        self.off.contains(&one.trial)
    }

    fn text(&self) -> String {
        let of = |off: bool| {
            let some = self.found.iter().filter(|one| self.is_off(one) == off);
            Samples::of(some.copied()).distribution()
        };
        let (counted, off) = (of(false), of(true));
        let mut text = self.describe(&counted);
        if off.count > 0 {
            let (more, longest) = (off.count, milliseconds(off.max_ms));
            text.push_str(&format!("; {more} in disturbed trials, the longest {longest}"));
        }
        text
    }

    fn describe(&self, of: &Distribution) -> String {
        if of.count == 0 {
            let bound = self.bound.map(|bound| format!(", bound {}", milliseconds(Some(bound))));
            return format!("none{}", bound.unwrap_or_default());
        }
        // Findings after faults are described separately from others.
        let counted = self.found.iter().filter(|one| !self.is_off(one));
        let by_faults = counted.filter(|one| matches!(one.cause, Cause::Fault(_)));
        let by_faults = Samples::of(by_faults.copied()).distribution();
        let all = count(usize::try_from(of.count).unwrap_or(usize::MAX), "sample");
        let some = by_faults.count;
        let (whose, numbers) = if some == 0 || some == of.count {
            (all, of)
        } else {
            (format!("{some} after a fault, of {all}"), &by_faults)
        };
        let mut text = format!(
            "{whose}: median {}, 95 % {}; longest {}",
            milliseconds(numbers.p50_ms),
            milliseconds(numbers.p95_ms),
            milliseconds(of.max_ms)
        );
        if let Some((bound, most)) = self.bound.zip(of.max_ms) {
            let side = if most > bound { "above" } else { "below" };
            text.push_str(&format!(
                ", {} {side} the bound of {}",
                milliseconds(Some((bound - most).abs())),
                milliseconds(Some(bound))
            ));
        }
        text
    }

    /// Points of equal length are stacked as far as there is room.
    fn points(&self, x: &dyn Fn(f64) -> f64) -> String {
        let mut svg = String::new();
        let each = |one: &'_ &Finding| u64::from(one.roles.count);
        let all = self.found.iter().flat_map(|one| (0..each(one)).map(move |_| one));
        for (place, one) in all.enumerate() {
            let at = tenth(x(ms(one.span.length())));
            let y = tenth(HEIGHT - 8.0 - number(place % 8) * 6.0);
            svg.push_str(&match one.cause {
                _ if self.is_off(one) => {
                    format!("<path class=\"off\" d=\"M{at} {y}m0 -4l4 4l-4 4l-4 -4z\"/>")
                }
                Cause::Fault(_) => {
                    format!("<circle class=\"dot\" cx=\"{at}\" cy=\"{y}\" r=\"3\"/>")
                }
                Cause::Restart(_)
                | Cause::Broker(_)
                | Cause::Death(_)
                | Cause::Stop(_)
                | Cause::Connection(_)
                | Cause::Leave(_)
                | Cause::Start => {
                    format!("<circle class=\"ring\" cx=\"{at}\" cy=\"{y}\" r=\"3\"/>")
                }
                Cause::Nothing => {
                    format!("<path class=\"cross\" d=\"M{at} {y}m-3 -3l6 6m0-6l-6 6\"/>")
                }
            });
        }
        svg
    }

    fn bars(&self, most: f64) -> String {
        let width = (WIDTH - 16.0) / number(BARS);
        let mut bars = vec![[0_u64; 3]; BARS];
        for one in &self.found {
            let part = ms(one.span.length()) / most * number(BARS);
            let of = match one.cause {
                _ if self.is_off(one) => 2,
                Cause::Fault(_) => 0,
                Cause::Restart(_)
                | Cause::Broker(_)
                | Cause::Death(_)
                | Cause::Stop(_)
                | Cause::Connection(_)
                | Cause::Leave(_)
                | Cause::Start
                | Cause::Nothing => 1,
            };
            let place = (0..BARS).rev().find(|place| number(*place) <= part).unwrap_or(0);
            if let Some(count) = bars.get_mut(place).and_then(|bar| bar.get_mut(of)) {
                *count += u64::from(one.roles.count);
            }
        }
        let highest = bars.iter().map(|of| of.iter().sum()).max().unwrap_or(1).max(1);
        let mut svg = String::new();
        for (place, [by, other, off]) in bars.into_iter().enumerate() {
            let x = tenth(8.0 + width * number(place));
            // A single sample among thousands stays visible.
            let high = |count: u64| {
                let least = if count > 0 { 1.5 } else { 0.0 };
                f64::max((HEIGHT - 6.0) * float(count) / float(highest), least)
            };
            let mut y = HEIGHT;
            for (class, count) in [("dot", by), ("ring", other), ("off", off)] {
                let height = high(count);
                y -= height;
                if count > 0 {
                    svg.push_str(&format!(
                        "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                        tenth(y),
                        tenth(width - 1.0),
                        tenth(height)
                    ));
                }
            }
        }
        svg
    }
}
