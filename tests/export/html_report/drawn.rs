//! How a real browser takes a page: without a complaint or a request, by keyboard, on a phone and
//! on paper. How soon it does is measured in `tests/measured/html_report.rs`.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::html_report::browser::Browser;
use crate::html_report::contents::{SMALL, counts_fit, stalled};
use crate::html_report::hostile;
use crate::html_report::large::THOUSAND;
use crate::html_report::made::data;
use support::experiment::{Experiment, output, tandem};

/// WebDriver's numbers of keys that write nothing.
const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';

fn file(page: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    fs::write(&path, page).unwrap();
    (folder, path)
}

/// Opens a page, waits until its lanes are drawn, and holds it to what holds for every page.
fn open(browser: &Browser, path: &Path) {
    browser.open(path);
    browser.wait_for("performance.getEntriesByName('lanes drawn').length > 0");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
    let requests = browser.requests(path);
    let own = format!("file://{}", path.display());
    let foreign: Vec<_> =
        requests.iter().filter(|url| **url != own && !url.starts_with("data:")).collect();
    assert!(requests.contains(&own), "requests are seen: {requests:?}");
    assert!(foreign.is_empty(), "it asked for {foreign:?}");
}

#[test]
fn a_real_run_has_a_page_with_the_numbers_of_its_result() {
    let args = "--trials 2 --seed 7 --set defaults.session=500ms";
    let run = Experiment::claimless("kill-leader").with(args).finish();
    let report = run.sound();
    let path = run.out.join("report.html");
    assert!(run.stdout.contains(&path.display().to_string()), "it says where the page is:\n{run}");
    let page = fs::read_to_string(&path).unwrap();
    counts_fit(&report, &data(&page));
    let browser = Browser::start();
    open(&browser, &path);
    let heading = browser.ask("document.querySelector('h1').innerText");
    let verdict = report.verdict.as_str().to_uppercase();
    assert!(heading.as_str().unwrap().contains(&verdict), "{heading}");

    let again = run.judged_again();
    let elsewhere = run.folder.path().join("elsewhere.html");
    let html = ["report", "--html", &elsewhere.display().to_string()].map(str::to_owned);
    output(tandem(run.folder.path()).args(html).arg(&run.out));
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), page, "the same where it is asked for");
    assert_eq!(fs::read_to_string(&path).unwrap(), page, "judged again, it is the same page");
    assert_eq!(again.status.code(), run.code());
}

#[test]
fn a_thousand_roles_are_there_and_only_what_is_near_is_held() {
    let (_folder, path) = file(&THOUSAND.fixture().page());
    let browser = Browser::start();
    browser.size(1280, 1000);
    open(&browser, &path);
    assert_eq!(browser.ask("document.querySelectorAll('.row').length"), 64);
    // A canvas is 300 pixels wide until it is drawn for the first time.
    let width = |lane: u32| format!("document.querySelectorAll('.row canvas')[{lane}].width");
    let drawn = "[...document.querySelectorAll('.row canvas')].filter((it) => it.width > 300)";
    for (near, far) in [(0, None), (63, Some(0)), (0, Some(63))] {
        browser.ask(&format!("document.querySelectorAll('.row')[{near}].scrollIntoView()"));
        browser.wait_for(&format!("{} > 300", width(near)));
        if let Some(far) = far {
            browser.wait_for(&format!("{} === 0", width(far)));
        }
        browser.wait_for(&format!("{drawn}.length < 64"));
    }
}

#[test]
fn the_page_is_usable_with_a_keyboard() {
    let (_folder, path) = file(&SMALL.fixture().page());
    let browser = Browser::start();
    browser.size(1280, 1000);
    open(&browser, &path);
    browser.press(&[TAB]);
    assert_eq!(browser.ask("document.activeElement.className"), "skip");
    let ring = browser.ask("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(ring, "solid", "the focus is seen");
    browser.press(&[ENTER]);
    assert_eq!(browser.ask("document.activeElement.id"), "main");
    let mut seen = Vec::new();
    for _ in 0..40 {
        browser.press(&[TAB]);
        let at = browser.ask("document.activeElement.id || document.activeElement.className");
        seen.push(at.as_str().unwrap().to_owned());
        if at == "row" {
            break;
        }
    }
    assert_eq!(seen.last().unwrap(), "row", "a lane is reached: {seen:?}");
    let label = browser.ask("document.activeElement.getAttribute('aria-label')");
    assert!(label.as_str().unwrap().contains("the longest"), "it names the findings: {label}");

    // The focus has scrolled the page.
    browser.await_frames();
    browser.press(&['n']);
    let first = browser.ask("document.getElementById('tip').textContent");
    let first = first.as_str().unwrap();
    let known = ["gap of", "overlap of", "unknown for"].iter().any(|it| first.contains(it));
    assert!(first.starts_with("1 of ") && first.contains("known to within") && known, "{first}");
    browser.press(&['n']);
    let second = browser.ask("document.getElementById('tip').textContent");
    assert!(second.as_str().unwrap().starts_with("2 of "), "{second}");
    browser.press(&['\u{e00c}']);
    assert_eq!(browser.ask("document.getElementById('tip').textContent"), "", "Escape hides it");
}

#[test]
fn the_tooltip_shows_exact_numbers() {
    let fixture = SMALL.fixture();
    let (_folder, path) = file(&fixture.page());
    let browser = Browser::start();
    browser.size(1280, 1000);
    open(&browser, &path);
    // The middle of the first gap of the first lane of the first group, as it is drawn.
    browser.ask("document.querySelector('.row').scrollIntoView({block: 'center'})");
    browser.await_frames();
    let place = browser.ask(
        "(() => { const it = JSON.parse(document.getElementById('data').textContent); \
         const lane = it.groups[0].lanes[it.folds[0].on[0]].g, [from, until] = it.window; \
         const box = document.querySelector('.row canvas').getBoundingClientRect(); \
         const at = (lane[0] + lane[1] / 2 - from) / (until - from); \
         return [box.left + at * box.width, box.top + 9, lane[1]]; })()",
    );
    let number = |at: usize| place[at].as_f64().unwrap();
    browser.point(number(0).round() as i64, number(1).round() as i64);
    let said = browser.ask("document.getElementById('tip').textContent");
    let length = format!("gap of {:.3} ms", number(2) / 1e6);
    assert!(said.as_str().unwrap().contains(&length), "{length} is not in {said}");
}

/// How much of the first row's canvas is covered at an instant, in the space above its first lane.
fn covered(browser: &Browser, at_ns: u64) -> u64 {
    let alpha = browser.ask(&format!(
        "(() => {{ const it = JSON.parse(document.getElementById('data').textContent); \
         const canvas = document.querySelector('.row canvas'), [from, until] = it.window; \
         const x = Math.round(({at_ns} - from) / (until - from) * canvas.width); \
         return canvas.getContext('2d').getImageData(x, 1, 1, 1).data[3]; }})()"
    ));
    alpha.as_u64().unwrap()
}

#[test]
fn stalls_of_the_host_are_seen_in_light_in_the_dark_and_on_paper() {
    let (_folder, path) = file(&stalled().page());
    let browser = Browser::start();
    browser.size(1280, 1000);
    open(&browser, &path);
    let (stalled, calm) = (covered(&browser, 5_090_000_000), covered(&browser, 7_000_000_000));
    assert!(stalled > 0 && calm == 0, "{stalled} in the middle of a stall, {calm} beside it");
    let fill = |what: &str| {
        browser.ask(&format!("getComputedStyle(document.querySelector('{what}')).fill"))
    };
    let light = fill("#still .stall");
    assert_eq!(light, fill(".legend .stall"), "the legend has the same look");
    assert_ne!(light, fill(".legend .band"), "which is none of a fault");
    let dark = serde_json::json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.send("Emulation.setEmulatedMedia", &dark);
    assert_ne!(fill("#still .stall"), light, "it is light in the dark");
    browser.send("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
    assert_eq!(fill("#still .stall"), light, "paper is light");
    let wide = "document.querySelector('#still .stall').getBoundingClientRect().width";
    assert!(browser.ask(wide).as_f64().unwrap() > 0.0, "it is on paper");
    let tick = browser.ask("getComputedStyle(document.querySelector('#still .tick')).stroke");
    assert_ne!(tick, "none", "the axis has its ticks");
}

#[test]
fn the_page_works_on_phones_in_dark_mode_and_on_paper() {
    for page in [SMALL.fixture().page(), THOUSAND.fixture().page()] {
        let (_folder, path) = file(&page);
        let browser = Browser::start();
        browser.size(360, 740);
        open(&browser, &path);
        let wide = browser.ask("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= 360, "{wide} pixels wide");

        let paper = "getComputedStyle(document.body).backgroundColor";
        let light = browser.ask(paper);
        let dark = serde_json::json!(
            {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        );
        browser.send("Emulation.setEmulatedMedia", &dark);
        assert_ne!(browser.ask(paper), light, "dark where that is wanted");

        browser.send("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
        let shown = |what: &str| {
            browser.ask(&format!("getComputedStyle(document.querySelector('{what}')).display"))
        };
        assert_eq!((shown("#stage"), shown("#still")), ("none".into(), "block".into()));
        let pdf = browser.print();
        assert!(pdf.starts_with("JVBERi"), "a PDF");
        assert!(pdf.len() > 20_000, "with something in it: {} bytes", pdf.len());
        assert_eq!(browser.ask("document.querySelectorAll('details:not([open])').length"), 0);
    }
}

/// A table that is wider than a phone says so, can be scrolled to its last column, and keeps the
/// names of its rows in sight.
#[test]
fn a_table_that_is_wider_than_a_phone_says_that_it_goes_on() {
    let (_folder, path) = file(&SMALL.fixture().page());
    let browser = Browser::start();
    let hint = "getComputedStyle(document.querySelector('.wide caption'), '::after').content";
    browser.size(1280, 1000);
    open(&browser, &path);
    assert_eq!(browser.ask(hint), "none", "a screen is wide enough");
    browser.size(390, 844);
    open(&browser, &path);
    let hinted = browser.ask(hint);
    assert!(hinted.as_str().unwrap().contains("scroll sideways"), "{hinted}");
    let shaded = "getComputedStyle(document.querySelector('.wide')).backgroundImage";
    let shaded = browser.ask(shaded);
    assert!(shaded.as_str().unwrap().contains("linear-gradient"), "{shaded}");
    // Every table that does not fit says so.
    let silent = "[...document.querySelectorAll('.scroll:has(table)')].filter(it => \
                  it.scrollWidth > it.clientWidth && !it.classList.contains('wide')).length";
    assert_eq!(browser.ask(silent), 0);
    let seen = "(() => { const all = document.querySelector('.wide'); \
                all.scrollLeft = all.scrollWidth; \
                const box = all.getBoundingClientRect(); \
                const last = all.querySelector('tbody td:last-child').getBoundingClientRect(); \
                const name = all.querySelector('tbody th').getBoundingClientRect(); \
                return [last.right <= box.right + 1, Math.abs(name.left - box.left) <= 1]; })()";
    assert_eq!(browser.ask(seen), serde_json::json!([true, true]));
}

#[test]
fn a_page_says_everything_without_its_script() {
    let fixture = SMALL.fixture();
    let (_folder, path) = file(&fixture.page());
    let browser = Browser::start();
    browser.send("Emulation.setScriptExecutionDisabled", &serde_json::json!({"value": true}));
    browser.open(&path);
    let shown = |what: &str| {
        browser.ask(&format!("getComputedStyle(document.querySelector('{what}')).display"))
    };
    assert_eq!((shown("#stage"), shown("#still")), ("none".into(), "block".into()));
    let gaps = browser.ask("document.querySelectorAll('#still path.gap').length");
    assert!(gaps.as_u64().unwrap() > 0, "the still lanes show gaps");
    assert!(browser.ask("document.querySelectorAll('#still figure').length").as_u64() == Some(4));
    let rows = browser.ask("document.querySelectorAll('#findings tbody tr').length");
    assert!(rows.as_u64().unwrap() > 0, "the tables have them in words");
}

#[test]
fn hostile_names_do_nothing_in_a_browser() {
    let (_folder, path) = file(&hostile::fixture().page());
    let browser = Browser::start();
    browser.open(&path);
    browser.wait_for("document.readyState === 'complete'");
    assert_eq!(browser.ask("typeof window.struck"), "undefined");
    assert_eq!(browser.ask("document.querySelectorAll('img, iframe, object').length"), 0);
    assert!(browser.complaints().is_empty(), "nothing was even tried");
    let heading = browser.ask("document.querySelector('h1').textContent");
    assert!(heading.as_str().unwrap().contains("<script>window.struck=1"), "shown as text");
}
