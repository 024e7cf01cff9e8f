//! The five longest gaps, enlarged: what each group did around them.

use std::time::Duration;

use super::Subject;
use super::bands::lanes_top;
use super::chart::{Chart, Fold};
use super::drawing::{STEP, Scale};
use super::html::{Safe, milliseconds, number};
use crate::timeline::{Finding, Interval};
use crate::verdict::{Worst, ms};

const WIDTH: f64 = 1000.0;

/// The section.
pub(super) fn section(subject: &Subject<'_>, chart: &Chart<'_>) -> String {
    let mut html =
        "<section id=\"worst\" aria-labelledby=\"worst-h\"><h2 id=\"worst-h\">The longest \
                    gaps</h2>\n"
            .to_owned();
    if subject.report.worst.is_empty() {
        let counts = subject.report.trials > 0 || subject.report.up.is_some();
        let none = if counts { "No group had a gap." } else { "No trial counts." };
        html.push_str(&format!("<p>{none}</p>\n"));
    }
    for worst in &subject.report.worst {
        html.push_str(&one(subject, chart, worst));
    }
    html.push_str("</section>\n");
    html
}

fn one(subject: &Subject<'_>, chart: &Chart<'_>, worst: &Worst) -> String {
    let others = match worst.roles {
        0 | 1 => String::new(),
        roles => format!(" and {} more", roles - 1),
    };
    let title = format!(
        "{} in {}: {}{others}{}",
        milliseconds(Some(worst.duration_ms)),
        worst.group,
        worst.role,
        match &subject.report.up {
            Some(_) => String::new(),
            None => format!(", trial {}", worst.trial),
        }
    );
    let picture =
        find(subject, chart, worst).map(|(fold, gap)| draw(subject, chart, fold, gap.span));
    format!(
        "<figure class=\"lane\"><figcaption><b>{}</b> <span>{}</span></figcaption>{}</figure>\n",
        Safe(title),
        Safe(describe(worst)),
        picture.unwrap_or_default()
    )
}

fn describe(worst: &Worst) -> String {
    let mut parts = vec![
        format!(
            "{:.3} ms, known to within {}",
            worst.duration_ms,
            milliseconds(Some(worst.uncertainty_ms))
        ),
        format!("from {:.3} s on", worst.from_ms / 1e3),
    ];
    parts.extend(worst.after());
    if worst.censored {
        parts.push("still open at the end".to_owned());
    }
    if let Some(stall) = worst.stall {
        let length = milliseconds(Some(stall.until_ms - stall.from_ms));
        parts.push(format!("the host stalled for {length} in it"));
    }
    parts.join("; ") + "."
}

fn find<'s, 'a>(
    subject: &Subject<'_>,
    chart: &'s Chart<'a>,
    worst: &Worst,
) -> Option<(&'s Fold<'a>, &'a Finding)> {
    let role = subject.plan.role(&worst.role)?;
    let fold = chart.folds.iter().find(|fold| fold.roles.contains(role))?;
    let lanes = chart.lanes(fold);
    let mut lanes = lanes.filter(|(group, _)| *group.name == worst.group);
    let gaps = &lanes.next()?.1.marks.gaps;
    let same = |gap: &&&Finding| {
        let from = ms(gap.span.from.since(subject.zero));
        gap.trial == worst.trial && from.total_cmp(&worst.from_ms).is_eq()
    };
    Some((fold, gaps.iter().find(same).copied()?))
}

fn draw(subject: &Subject<'_>, chart: &Chart<'_>, fold: &Fold<'_>, gap: Interval) -> String {
    let around = (gap.length() / 2).max(Duration::from_millis(50));
    let window = Interval::new(gap.from - around, gap.until + around);
    let scale = Scale { window, left: 100.0, width: WIDTH - 110.0 };
    let top = lanes_top(subject);
    let bottom = top + STEP * number(chart.groups.len() + 1);
    let (lanes, _) = scale.fold(subject, chart, fold, top);
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{0} around this gap\">\
         <svg viewBox=\"0 0 {WIDTH} {1}\" role=\"img\" aria-label=\"The lanes of {0}\">\
         {2}{lanes}{3}{4}</svg></div>",
        Safe(fold.title()),
        bottom + 20.0,
        scale.grounds(subject, top - 2.0, bottom),
        scale.edges(subject, top - 2.0, bottom),
        scale.axis(subject.zero, bottom),
    )
}
