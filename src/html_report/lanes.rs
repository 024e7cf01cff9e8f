//! The lanes: static pictures for readers without scripts and for paper, the element in which the
//! script draws all of them, and the same in words.

use super::Subject;
use super::bands::lanes_top;
use super::chart::{Chart, Fold, Marks};
use super::disturbed::disturbed_trials;
use super::drawing::{STEP, Scale};
use super::html::{Safe, count, length, number, table};
use super::thin::Thinning;

/// The most bytes of static pictures; the script draws the rest.
const STILL_MAX: usize = 400_000;
/// The most rows of words.
const ROWS_MAX: usize = 400;
/// The legend, and the element that the script fills, hidden without a script.
const LEGEND_AND_STAGE: &str = include_str!("lanes.html");
/// The placeholder in it for the choice of trials.
const CHOICE: &str = "<!-- trials -->\n";
const TRIALS: &str = "<label>Trial <select id=\"trial\"></select></label>\n\
                      <button type=\"button\" id=\"before\">Trial before</button>\n\
                      <button type=\"button\" id=\"after\">Trial after</button>\n";
/// The placeholder in the legend for disturbed trials.
const OFF: &str = "<!-- disturbed -->\n";
const DISTURBED: &str = "<li><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path \
                         class=\"off-band\" d=\"M0 0h26v12h-26z\"/><path class=\"off-edge\" \
                         d=\"M.5 0v12M25.5 0v12\"/></svg> a trial that the host disturbed: it \
                         does not count in the verdict</li>\n";
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 100.0;

/// The section.
pub(super) fn section(subject: &Subject<'_>, chart: &Chart<'_>, thinning: &Thinning) -> String {
    let mut html = format!(
        "<section id=\"lanes\" aria-labelledby=\"lanes-h\"><h2 id=\"lanes-h\">Who led what, and \
         when</h2>\n<p>{}</p>\n",
        Safe(intro(subject, chart))
    );
    for sentence in thinning.describe() {
        html.push_str(&format!("<p class=\"note\">{}</p>\n", Safe(sentence)));
    }
    // A topology that is kept up has no trials.
    let trials = if subject.report.up.is_some() { "" } else { TRIALS };
    let off = if disturbed_trials(subject.report).is_empty() { "" } else { DISTURBED };
    html.push_str(&LEGEND_AND_STAGE.replace(CHOICE, trials).replace(OFF, off));
    html.push_str(&still(subject, chart));
    html.push_str(&words(chart));
    html.push_str("</section>\n");
    html
}

fn intro(subject: &Subject<'_>, chart: &Chart<'_>) -> String {
    let roles = usize::try_from(subject.plan.roles.len()).unwrap_or(usize::MAX);
    let lanes = chart.folds.len();
    let quiet = chart.folds.iter().filter(|fold| chart.is_quiet(fold)).count();
    let mut text = if lanes < roles {
        format!(
            "{} on {}: roles on the same partitions have the same intervals and share a lane.",
            count(roles, "role"),
            count(lanes, "lane")
        )
    } else {
        format!("{}, each on a lane of its own.", count(roles, "role"))
    };
    if quiet > 0 {
        text.push_str(&format!(" Nothing was found on {quiet} of the lanes."));
    }
    text
}

/// Pictures of the whole run; lanes with findings come first.
fn still(subject: &Subject<'_>, chart: &Chart<'_>) -> String {
    let mut html = "<div id=\"still\">".to_owned();
    let (mut shown, mut size) = (0, 0);
    let folds = || chart.folds.iter();
    let loud = folds().filter(|fold| !chart.is_quiet(fold));
    let quiet = folds().filter(|fold| chart.is_quiet(fold));
    for fold in loud.chain(quiet) {
        let picture = picture(subject, chart, fold);
        size += picture.len();
        if size > STILL_MAX && shown > 0 {
            break;
        }
        html.push_str(&picture);
        shown += 1;
    }
    let left = chart.folds.len() - shown;
    if left > 0 {
        html.push_str(&format!(
            "<p class=\"note\">{} more {} drawn by the page's script alone; the table below has \
             them in words.</p>",
            left,
            if left == 1 { "lane is" } else { "lanes are" }
        ));
    }
    html.push_str("</div>\n");
    html
}

fn picture(subject: &Subject<'_>, chart: &Chart<'_>, fold: &Fold<'_>) -> String {
    let scale = Scale { window: chart.window, left: LEFT, width: WIDTH - LEFT - 10.0 };
    let top = lanes_top(subject);
    let bottom = top + STEP * number(chart.groups.len() + 1);
    let (lanes, _) = scale.fold(subject, chart, fold, top);
    let title = format!("{}: {}", fold.title(), summary(chart, fold));
    format!(
        "<figure class=\"lane\"><figcaption>{0}</figcaption>\
         <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\">\
         <svg viewBox=\"0 0 {WIDTH} {1}\" role=\"img\" aria-label=\"{2}\">\
         {3}{lanes}{4}{5}</svg></div></figure>\n",
        Safe(fold.title()),
        bottom + 20.0,
        Safe(title),
        scale.grounds(subject, top - 2.0, bottom),
        scale.edges(subject, top - 2.0, bottom),
        scale.axis(subject.zero, bottom),
    )
}

/// `p1: 2 gaps, the longest 1108 ms; 8 overlaps, the longest 4138 ms. joint: nothing.`
fn summary(chart: &Chart<'_>, fold: &Fold<'_>) -> String {
    let groups =
        chart.lanes(fold).map(|(group, lane)| format!("{}: {}", group.name, found(&lane.marks)));
    let all: Vec<_> = groups.chain([format!("joint: {}", found(&fold.joint))]).collect();
    all.join(". ") + "."
}

fn found(marks: &Marks<'_>) -> String {
    let kinds =
        [("gap", &marks.gaps), ("overlap", &marks.overlaps), ("unknown time", &marks.unknown)];
    let parts = kinds.into_iter().filter_map(|(kind, all)| {
        let longest = all.iter().map(|one| one.span.length()).max()?;
        Some(format!("{}, the longest {}", count(all.len(), kind), length(longest)))
    });
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { "nothing found".to_owned() } else { parts.join("; ") }
}

/// Every lane in words, for readers who cannot see them.
fn words(chart: &Chart<'_>) -> String {
    let loud: Vec<_> = chart.folds.iter().filter(|fold| !chart.is_quiet(fold)).collect();
    let mut head = vec!["roles"];
    head.extend(chart.groups.iter().map(|group| group.name.as_str()));
    head.push("joint");
    let row = |fold: &&Fold<'_>| {
        let lanes = chart.lanes(fold).map(|(_, lane)| found(&lane.marks));
        std::iter::once(fold.title()).chain(lanes).chain([found(&fold.joint)]).collect()
    };
    let rows = table("Lanes with a finding", &head, loud.iter().take(ROWS_MAX).map(row));
    let left = match loud.len().checked_sub(ROWS_MAX) {
        Some(left @ 1..) => format!("<p class=\"note\">{} more.</p>", count(left, "lane")),
        Some(_) | None => String::new(),
    };
    format!("<details><summary>The lanes in words</summary>{rows}{left}</details>\n")
}
