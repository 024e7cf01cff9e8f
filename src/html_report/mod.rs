//! Renders a run as one HTML file that works offline: the verdict first, then which member led
//! which role and when, how long everything lasted, which fault hit what.
//!
//! ```text
//!   Report, Timeline, Plan --> Chart (lanes, and the roles that share them) --> sections --> HTML
//!                                 \--> Thinning --> Data as JSON --> page.js draws the lanes
//! ```
//!
//! The page loads nothing: its style and script are embedded, and its policy allows only these two,
//! by their hashes. All content is present without the script; the script draws the lanes so that
//! readers can zoom and move in time.

mod bands;
mod chart;
mod data;
mod disturbed;
mod drawing;
mod findings;
mod head;
mod hits;
mod html;
mod lanes;
mod plot;
mod tables;
mod thin;
mod worst;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use self::chart::Chart;
use self::html::Safe;
pub use self::thin::Room;
use self::thin::Thinning;
use crate::time::{Mono, Wall};
use crate::timeline::Timeline;
use crate::topology::Plan;
use crate::verdict::Report;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("model.js"), include_str!("page.js"));
/// Links within the page (the first is for keyboard users), and the hatching and dot patterns of
/// all pictures.
const TOP: &str = include_str!("top.html");
const END: &str = include_str!("end.html");

/// The input of a page.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The judgement.
    pub report: &'a Report,
    /// The judged intervals.
    pub timeline: &'a Timeline,
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The run's name.
    pub run: &'a str,
    /// The run's zero on the clock of the facts.
    pub zero: Mono,
    /// The same instant on the wall clock.
    pub began: Wall,
    /// The version of Tandem that wrote the journal.
    pub tandem: &'a str,
}

/// The page: at most 10 MB, for runs of any length. All text from files is escaped.
#[must_use]
pub fn page(subject: &Subject<'_>) -> String {
    page_within(subject, Room::default())
}

/// The same, with another limit on what the lanes show.
#[must_use]
pub fn page_within(subject: &Subject<'_>, room: Room) -> String {
    let chart = Chart::of(subject);
    let thinning = Thinning::of(subject, &chart, room);
    let report = subject.report;
    let title = match &report.up {
        Some(up) => format!("{}: {}", report.kept(up), report.topology),
        None => {
            let word = report.headline().to_uppercase();
            format!("{word}: {} on {}", report.experiment, report.topology)
        }
    };
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         base-uri 'none'; form-action 'none'; img-src data:; \
         style-src 'sha256-{}'; script-src 'sha256-{}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n",
        hash(STYLE),
        hash(SCRIPT),
        Safe(title),
    );
    html.push_str(TOP);
    html.push_str(&head::head(subject));
    html.push_str("<main id=\"main\" tabindex=\"-1\">\n");
    html.push_str(&lanes::section(subject, &chart, &thinning));
    html.push_str(&plot::section(subject, &chart));
    html.push_str(&worst::section(subject, &chart));
    html.push_str(&hits::hits(subject, &chart));
    html.push_str(&tables::rulings(subject));
    html.push_str(&tables::trust(subject));
    html.push_str(&findings::findings(subject, &chart));
    html.push_str("</main>\n");
    html.push_str(END);
    let data = data::data(subject, &chart, &thinning);
    html.push_str(&format!("<script type=\"application/json\" id=\"data\">{data}</script>\n"));
    html.push_str(&format!("<script>{SCRIPT}</script>\n</body>\n</html>\n"));
    html
}

/// A hash in the format of a content security policy.
fn hash(text: &str) -> String {
    STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()))
}
