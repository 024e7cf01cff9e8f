//! Bands through all lanes: disturbed trials, faults, each with its name, and stalls of the host.
//! Their backgrounds
//! are drawn behind the lanes, to keep the lanes' colours, and their edges on top.

use super::Subject;
use super::disturbed::disturbed_trials;
use super::drawing::{Scale, tenth};
use super::html::{Safe, number};
use crate::ids::TrialNumber;
use crate::timeline::{Incident, Interval};

/// The least width of a band.
const LEAST: f64 = 1.0;
/// The height of a line of names above the lanes.
const NAMES: f64 = 12.0;

/// Where the first lane begins: below the names of faults, and those of disturbed trials.
pub(super) fn lanes_top(subject: &Subject<'_>) -> f64 {
    let disturbed = disturbed_windows(subject).next().is_some();
    if disturbed { 20.0 + NAMES } else { 20.0 }
}

/// The disturbed trials.
fn disturbed_windows(subject: &Subject<'_>) -> impl Iterator<Item = (TrialNumber, Interval)> {
    let off = disturbed_trials(subject.report);
    let trials = subject.timeline.record.trials.iter();
    let trials = trials.map(|trial| (trial.number, trial.window));
    trials.filter(move |(number, _)| off.contains(number))
}

impl Scale {
    /// The backgrounds of all bands from `top` to `bottom`.
    pub(super) fn grounds(&self, subject: &Subject<'_>, top: f64, bottom: f64) -> String {
        let record = &subject.timeline.record;
        let bands = record.incidents.values().filter_map(|one| self.band(one));
        let rect = |(x, width)| {
            let (x, width, height) = (tenth(x), tenth(width), tenth(bottom - top));
            format!(
                "<rect class=\"band\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
            )
        };
        let off = disturbed_windows(subject).map(|(_, window)| window);
        let mut svg = self.path("off-band", off, (top, bottom - top, LEAST));
        svg.extend(bands.map(rect));
        let stalls = record.stalls.iter().copied();
        svg.push_str(&self.path("stall", stalls, (top, bottom - top, LEAST)));
        svg
    }

    /// The edges of all bands; a fault's with its kind and id if there is room.
    pub(super) fn edges(&self, subject: &Subject<'_>, top: f64, bottom: f64) -> String {
        let (mut svg, mut free) = (self.stall_edges(subject, top, bottom), 0.0);
        svg.push_str(&self.disturbed_edges(subject, top, bottom));
        for (id, one) in &subject.timeline.record.incidents {
            let Some((x, width)) = self.band(one) else { continue };
            let name = format!("{} {id}", one.kind);
            svg.push_str(&format!(
                "<path class=\"edge\" d=\"M{0} {top}V{bottom}M{1} {top}V{bottom}\">\
                 <title>{2}</title></path>",
                tenth(x),
                tenth(x + width),
                Safe(&name)
            ));
            let long = 6.5 * number(name.chars().count());
            if x >= free && x + long < self.left + self.width {
                free = x + long + 8.0;
                let (x, y) = (tenth(x), tenth(top - 4.0));
                svg.push_str(&format!("<text x=\"{x}\" y=\"{y}\">{}</text>", Safe(&name)));
            }
        }
        svg
    }

    /// The edges of disturbed trials, each with its number above the names of faults if there is
    /// room.
    fn disturbed_edges(&self, subject: &Subject<'_>, top: f64, bottom: f64) -> String {
        let (mut svg, mut free) = (String::new(), 0.0);
        for (trial, window) in disturbed_windows(subject) {
            for (from, until) in self.pieces(std::iter::once(window), LEAST) {
                let name = format!("trial {trial}, disturbed");
                svg.push_str(&format!(
                    "<path class=\"off-edge\" d=\"M{0} {top}V{bottom}M{1} {top}V{bottom}\">\
                     <title>{name} by the host</title></path>",
                    tenth(from),
                    tenth(until)
                ));
                let x = from.max(free);
                let long = 6.5 * number(name.chars().count());
                if x < until.max(from + 8.0) && x + long < self.left + self.width {
                    free = x + long + 8.0;
                    let (x, y) = (tenth(x), tenth(top - 4.0 - NAMES));
                    svg.push_str(&format!("<text x=\"{x}\" y=\"{y}\">{name}</text>"));
                }
            }
        }
        svg
    }

    /// All stalls as one path, because there may be thousands.
    fn stall_edges(&self, subject: &Subject<'_>, top: f64, bottom: f64) -> String {
        let stalls = subject.timeline.record.stalls.iter().copied();
        let edge = |at: f64| format!("M{} {top}V{bottom}", tenth(at));
        let pieces = self.pieces(stalls, LEAST).into_iter();
        let d: String = pieces.flat_map(|(from, until)| [edge(from), edge(until)]).collect();
        if d.is_empty() {
            return d;
        }
        format!("<path class=\"stall-edge\" d=\"{d}\"><title>the host stalled</title></path>")
    }

    fn band(&self, of: &Incident) -> Option<(f64, f64)> {
        let band = Interval::new(of.asked, of.healed.unwrap_or(self.window.until));
        let x = self.x(band.from);
        let shown = !band.intersect(self.window).is_empty();
        shown.then(|| (x, (self.x(band.until) - x).max(LEAST)))
    }
}
