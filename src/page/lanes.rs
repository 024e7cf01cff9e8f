//! The lanes: still pictures for readers without scripts and for paper, the place where the script
//! draws all of them, and the same in words.

use super::Subject;
use super::drawing::{STEP, Scale};
use super::html::{Safe, count, length, number, table};
use super::scene::{Fold, Marks, Scene};
use super::thin::Thinning;

/// So many bytes of still pictures, and then no further one: the script draws the rest.
const STILL_MAX: usize = 400_000;
/// So many rows of words.
const ROWS_MAX: usize = 400;
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 100.0;
const TOP: f64 = 20.0;

/// The section.
pub(super) fn section(subject: &Subject<'_>, scene: &Scene<'_>, thinning: &Thinning) -> String {
    let quiet = scene.folds.iter().filter(|fold| scene.is_quiet(fold)).count();
    let lanes = scene.folds.len();
    let roles = count(subject.plan.roles.len(), "role");
    let mut html = format!(
        "<section id=\"lanes\" aria-labelledby=\"lanes-h\"><h2 id=\"lanes-h\">Who led what, and \
         when</h2>\n<p>{roles} on {}: roles on the same partitions have the same \
         intervals and share a lane. On {quiet} of them nothing was found.</p>\n",
        count(lanes, "lane")
    );
    for sentence in thinning.told() {
        html.push_str(&format!("<p class=\"note\">{}</p>\n", Safe(sentence)));
    }
    html.push_str(LEGEND);
    html.push_str(STAGE);
    html.push_str(&still(subject, scene));
    html.push_str(&words(scene));
    html.push_str("</section>\n");
    html
}

const LEGEND: &str = "<ul class=\"legend\">\
<li><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"m0\" d=\"M0 0h9v12h-9z\"/>\
<path class=\"m1\" d=\"M9 0h9v12h-9z\"/><path class=\"m2\" d=\"M18 0h8v12h-8z\"/></svg> a colour a member \
that serves</li>\
<li><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"gap\" d=\"M0 0h26v12h-26z\"/></svg> \
gap, solid red: nobody serves</li>\
<li><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"m0\" d=\"M0 0h26v12h-26z\"/>\
<path class=\"overlap\" d=\"M0 0h26v12h-26z\"/></svg> overlap, hatched: two or more claim</li>\
<li><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"unknown\" d=\"M0 0h26v12h-26z\"/></svg> \
unknown, grey and dotted</li>\
<li><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"band\" d=\"M0 0h26v12h-26z\"/></svg> \
a fault, from the request to its heal</li>\
<li><svg class=\"key\" viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"led\" d=\"M0 0h26v12h-26z\"/></svg> \
joint: some group leads</li></ul>\n";

/// What the script fills; hidden where there is none.
const STAGE: &str = "<div id=\"stage\" hidden>\
<div class=\"controls\" role=\"group\" aria-label=\"Time\">\
<label>Trial <select id=\"trial\"></select></label>\
<button type=\"button\" id=\"before\">Trial before</button>\
<button type=\"button\" id=\"after\">Trial after</button>\
<button type=\"button\" id=\"earlier\" aria-label=\"Earlier\">←</button>\
<button type=\"button\" id=\"later\" aria-label=\"Later\">→</button>\
<button type=\"button\" id=\"in\" aria-label=\"Zoom in\">+</button>\
<button type=\"button\" id=\"out\" aria-label=\"Zoom out\">−</button>\
<label>Lanes <select id=\"which\"><option value=\"found\">with anything found</option>\
<option value=\"gaps\">with gaps</option><option value=\"joint\">with joint gaps</option></select></label>\
<label>Role <input id=\"role\" type=\"search\" size=\"12\" autocomplete=\"off\"></label></div>\
<p class=\"hint\">Drag to move in time, Ctrl and the wheel to zoom. With the keyboard, on a lane: ← → \
move, + − zoom, N and P go to the next and the previous finding, 0 shows the whole run, Escape \
hides the numbers.</p>\
<div id=\"rows\"></div>\
<div id=\"told\" role=\"status\" aria-live=\"polite\"></div></div>\n";

/// Pictures of the whole run, of the lanes on which something was found first.
fn still(subject: &Subject<'_>, scene: &Scene<'_>) -> String {
    let mut html = "<div id=\"still\">".to_owned();
    let (mut shown, mut size) = (0, 0);
    let folds = || scene.folds.iter();
    let loud = folds().filter(|fold| !scene.is_quiet(fold));
    let quiet = folds().filter(|fold| scene.is_quiet(fold));
    for fold in loud.chain(quiet) {
        let picture = picture(subject, scene, fold);
        size += picture.len();
        if size > STILL_MAX && shown > 0 {
            break;
        }
        html.push_str(&picture);
        shown += 1;
    }
    let left = scene.folds.len() - shown;
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

fn picture(subject: &Subject<'_>, scene: &Scene<'_>, fold: &Fold<'_>) -> String {
    let scale = Scale { window: scene.window, left: LEFT, width: WIDTH - LEFT - 10.0 };
    let bottom = TOP + STEP * number(scene.groups.len() + 1);
    let (lanes, _) = scale.fold(subject, scene, fold, TOP);
    let title = format!("{}: {}", fold.title(), summary(scene, fold));
    format!(
        "<figure class=\"lane\"><figcaption>{0}</figcaption><div class=\"scroll\">\
         <svg viewBox=\"0 0 {WIDTH} {1}\" role=\"img\" aria-label=\"{2}\">{3}{lanes}{4}{5}</svg></div>\
         </figure>\n",
        Safe(fold.title()),
        bottom + 20.0,
        Safe(title),
        scale.grounds(subject, TOP - 2.0, bottom),
        scale.edges(subject, TOP - 2.0, bottom),
        scale.axis(subject.zero, bottom),
    )
}

/// `p1: 2 gaps, the longest 1108 ms; 8 overlaps, the longest 4138 ms. joint: nothing.`
fn summary(scene: &Scene<'_>, fold: &Fold<'_>) -> String {
    let groups =
        scene.lanes(fold).map(|(group, lane)| format!("{}: {}", group.name, found(&lane.marks)));
    let all: Vec<_> = groups.chain([format!("joint: {}", found(&fold.joint))]).collect();
    all.join(". ") + "."
}

fn found(marks: &Marks<'_>) -> String {
    let kinds =
        [("gap", &marks.gaps), ("overlap", &marks.overlaps), ("unknown time", &marks.unknown)];
    let told = kinds.into_iter().filter_map(|(kind, all)| {
        let longest = all.iter().map(|one| one.span.length()).max()?;
        Some(format!("{}, the longest {}", count(all.len(), kind), length(longest)))
    });
    let told: Vec<_> = told.collect();
    if told.is_empty() { "nothing found".to_owned() } else { told.join("; ") }
}

/// Every lane in words, for whoever does not see them.
fn words(scene: &Scene<'_>) -> String {
    let loud: Vec<_> = scene.folds.iter().filter(|fold| !scene.is_quiet(fold)).collect();
    let mut head = vec!["roles"];
    head.extend(scene.groups.iter().map(|group| group.name.as_str()));
    head.push("joint");
    let row = |fold: &&Fold<'_>| {
        let lanes = scene.lanes(fold).map(|(_, lane)| found(&lane.marks));
        std::iter::once(fold.title()).chain(lanes).chain([found(&fold.joint)]).collect()
    };
    let rows = table("Lanes with a finding", &head, loud.iter().take(ROWS_MAX).map(row));
    let left = match loud.len().checked_sub(ROWS_MAX) {
        Some(left @ 1..) => format!("<p class=\"note\">{} more.</p>", count(left, "lane")),
        Some(_) | None => String::new(),
    };
    format!("<details><summary>The lanes in words</summary>{rows}{left}</details>\n")
}
