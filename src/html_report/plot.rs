//! Distributions: few samples as points, many as a histogram, each with its bound.

use std::time::Duration;

use super::Subject;
use super::chart::Chart;
use super::drawing::{round_step, tenth};
use super::html::{Safe, count, milliseconds, number};
use crate::timeline::{Cause, Finding};
use crate::verdict::{Distribution, LimitReport, Samples, float, ms};

/// The most samples drawn as points; more are drawn as bars.
const POINTS_MAX: u64 = 80;
const BARS: usize = 48;
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 64.0;

/// One plot: its title, its samples, and the bound with its slack.
struct Plot<'a> {
    title: String,
    found: Vec<&'a Finding>,
    bound: Option<f64>,
}

/// The section.
pub(super) fn section(subject: &Subject<'_>, chart: &Chart<'_>) -> String {
    let mut html =
        "<section id=\"distributions\" aria-labelledby=\"dist-h\"><h2 id=\"dist-h\">How \
        long</h2>\n<p>One sample a role and interval. Points, or bars where there are many; filled \
        after a fault, hollow after another cause, a cross without one. \
        The dashed line is the bound that follows from the configuration, for faults of this \
        experiment.</p>\n\
        <div class=\"plots\">"
            .to_owned();
    for group in &chart.groups {
        let limit = subject.report.groups.get(group.name).map(|group| group.limit);
        let found = &group.line.findings;
        let name = group.name.as_str();
        html.push_str(&three(name, [&found.gaps, &found.overlaps, &found.takeovers], limit));
    }
    let joint = &subject.timeline.joint;
    let limit = Some(subject.report.joint.limit);
    html.push_str(&three("joint", [&joint.gaps, &joint.overlaps, &joint.takeovers], limit));
    html.push_str("</div>\n");
    html.push_str(&super::tables::numbers(subject));
    html.push_str("</section>\n");
    html
}

fn three(name: &str, of: [&Vec<Finding>; 3], limit: Option<LimitReport>) -> String {
    let bounds = [limit.and_then(|it| it.gap_ms), limit.and_then(|it| it.overlap_ms), None];
    let all = ["gaps", "overlaps", "takeovers"].into_iter().zip(of).zip(bounds);
    let plots = all.filter(|((kind, _), _)| !(name == "joint" && *kind == "takeovers"));
    let plot = |((kind, found), bound): ((&str, &Vec<Finding>), Option<f64>)| {
        let found = found.iter().collect();
        Plot { title: format!("{name}: {kind}"), found, bound }.draw()
    };
    plots.map(plot).collect()
}

impl Plot<'_> {
    fn draw(&self) -> String {
        let numbers = Samples::of(self.found.iter().copied()).distribution();
        let title = Safe(&self.title);
        let text = self.describe(&numbers);
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

    fn describe(&self, of: &Distribution) -> String {
        if of.count == 0 {
            let bound = self.bound.map(|bound| format!(", bound {}", milliseconds(Some(bound))));
            return format!("none{}", bound.unwrap_or_default());
        }
        // Findings after faults are described separately from others.
        let by_faults = self.found.iter().filter(|one| matches!(one.cause, Cause::Fault(_)));
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
                Cause::Fault(_) => {
                    format!("<circle class=\"dot\" cx=\"{at}\" cy=\"{y}\" r=\"3\"/>")
                }
                Cause::Restart(_)
                | Cause::Broker(_)
                | Cause::Death(_)
                | Cause::Stop(_)
                | Cause::Connection(_)
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
        let mut bars = vec![[0_u64; 2]; BARS];
        for one in &self.found {
            let part = ms(one.span.length()) / most * number(BARS);
            let of = usize::from(!matches!(one.cause, Cause::Fault(_)));
            let place = (0..BARS).rev().find(|place| number(*place) <= part).unwrap_or(0);
            if let Some(count) = bars.get_mut(place).and_then(|bar| bar.get_mut(of)) {
                *count += u64::from(one.roles.count);
            }
        }
        let highest = bars.iter().map(|[by, other]| by + other).max().unwrap_or(1).max(1);
        let mut svg = String::new();
        for (place, [by, other]) in bars.into_iter().enumerate() {
            let x = tenth(8.0 + width * number(place));
            // A single sample among thousands stays visible.
            let high = |count: u64| {
                let least = if count > 0 { 1.5 } else { 0.0 };
                f64::max((HEIGHT - 6.0) * float(count) / float(highest), least)
            };
            let mut y = HEIGHT;
            for (class, count) in [("dot", by), ("ring", other)] {
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
