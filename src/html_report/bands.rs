//! Bands through all lanes: faults, each with its name, and stalls of the host. Their backgrounds
//! are drawn behind the lanes, to keep the lanes' colours, and their edges on top.

use super::Subject;
use super::drawing::{Scale, tenth};
use super::html::{Safe, number};
use crate::timeline::{Incident, Interval};

/// The least width of a band.
const LEAST: f64 = 1.0;

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
        let mut svg: String = bands.map(rect).collect();
        let stalls = record.stalls.iter().copied();
        svg.push_str(&self.path("stall", stalls, (top, bottom - top, LEAST)));
        svg
    }

    /// The edges of all bands; a fault's with its kind and id if there is room.
    pub(super) fn edges(&self, subject: &Subject<'_>, top: f64, bottom: f64) -> String {
        let (mut svg, mut free) = (self.stall_edges(subject, top, bottom), 0.0);
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
