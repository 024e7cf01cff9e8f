//! Draws the first trials of a run as an SVG: who served each role, in each group and in all.
//!
//! ```sh
//! cargo run --release --example lanes -- tandem-out/<run> 2 > lanes.svg
//! ```

#![allow(
    clippy::print_stdout,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "pixels need no exactness, and the picture is what this prints"
)]

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;

use tandem::ids::{GroupName, RoleIndex};
use tandem::journal;
use tandem::time::Mono;
use tandem::timeline::{GroupLine, Interval, Timeline};
use tandem::topology::Plan;

const LEFT: f64 = 150.0;
const WIDTH: f64 = 830.0;
const LANE: f64 = 14.0;
const ROLE_GAP: f64 = 12.0;
const TOP: f64 = 52.0;
/// A member's colour, by its place in its group; then gaps, faults, text and paper.
const MEMBERS: [&str; 3] = ["#4878a8", "#78a860", "#b08850"];
const STYLE: &str = "text{font:12px 'DejaVu Sans',sans-serif;fill:#333}.s{font-size:10px;fill:#666}\
    .g{fill:#d03030}.f{stroke:#d03030;stroke-width:1.5;stroke-dasharray:3 3}";

struct Picture<'a> {
    plan: &'a Plan,
    timeline: &'a Timeline,
    window: Interval,
    svg: String,
    y: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: lanes DIR [TRIALS]")?);
    let trials: usize = arguments.next().map_or(Ok(2), |count| count.parse())?;
    let recording = journal::read(&folder.join("journal.jsonl"))?;
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let shown: Vec<_> = timeline.record.trials.iter().take(trials).collect();
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else {
        return Err("there is no trial to draw".into());
    };
    let window = Interval::new(first.window.from, last.window.until);
    let plan = &recording.header.plan;
    let mut picture = Picture { plan, timeline: &timeline, window, svg: String::new(), y: TOP };
    picture.draw()?;
    let height = picture.y + 24.0;
    let (name, topology) = (&recording.header.brief.experiment, &plan.topology);
    println!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 {height}\" role=\"img\">\n\
         <title>{name} on {topology}: who served each role</title>\n<style>{STYLE}</style>\n\
         <rect width=\"1000\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>",
        picture.svg
    );
    Ok(())
}

impl Picture<'_> {
    fn x(&self, at: Mono) -> f64 {
        let all = self.window.length().as_secs_f64();
        LEFT + WIDTH * (at.since(self.window.from).as_secs_f64() / all).clamp(0.0, 1.0)
    }

    fn bar(&mut self, span: Interval, height: f64, look: &str) -> std::fmt::Result {
        let span = span.intersect(self.window);
        if span.is_empty() {
            return Ok(());
        }
        let (x, y) = (self.x(span.from), self.y);
        let width = (self.x(span.until) - x).max(1.0);
        writeln!(
            self.svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" {look}/>"
        )
    }

    fn draw(&mut self) -> std::fmt::Result {
        self.legend()?;
        for (role, index) in self.plan.roles.iter().zip(0..) {
            let down = self.y + LANE * 1.8;
            writeln!(self.svg, "<text x=\"10\" y=\"{down:.1}\">{role}</text>")?;
            let timeline = self.timeline;
            for (name, line) in &timeline.groups {
                self.lane(name, line, RoleIndex(index))?;
            }
            self.label("all groups")?;
            let window = self.window;
            self.bar(window, LANE - 3.0, "fill=\"#d8e8d8\"")?;
            for gap in timeline.joint.gaps.iter().filter(|gap| gap.role.0 == index) {
                self.bar(gap.span, LANE - 3.0, "class=\"g\"")?;
            }
            self.y += LANE + ROLE_GAP;
        }
        self.faults()?;
        self.axis()
    }

    fn lane(&mut self, name: &GroupName, line: &GroupLine, role: RoleIndex) -> std::fmt::Result {
        self.label(name.as_str())?;
        let Some(group) = self.plan.groups.get(name) else { return Ok(()) };
        let partition = role.partition(group.partitions);
        let served = line.lanes.get(&partition).map(|lane| &lane.served);
        for (life, view) in served.into_iter().flatten() {
            let place = group.members.iter().position(|member| *member == life.member);
            let colour = MEMBERS.get(place.unwrap_or(0) % MEMBERS.len()).unwrap_or(&"#888");
            for span in view.sure.iter() {
                self.bar(span, LANE - 3.0, &format!("fill=\"{colour}\" fill-opacity=\".75\""))?;
            }
        }
        for gap in line.findings.gaps.iter().filter(|gap| gap.role == role) {
            self.bar(gap.span, LANE - 3.0, "class=\"g\"")?;
        }
        self.y += LANE;
        Ok(())
    }

    fn label(&mut self, text: &str) -> std::fmt::Result {
        let (x, y) = (LEFT - 8.0, self.y + LANE - 4.0);
        writeln!(
            self.svg,
            "<text class=\"s\" x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>"
        )
    }

    /// A line through all lanes where a fault was asked for.
    fn faults(&mut self) -> std::fmt::Result {
        let timeline = self.timeline;
        for (id, incident) in &timeline.record.incidents {
            if !self.window.contains(incident.asked) {
                continue;
            }
            let (x, bottom) = (self.x(incident.asked), self.y - ROLE_GAP);
            let member =
                |life: &String| life.rsplit_once('.').map_or(life.clone(), |it| it.0.to_owned());
            let whom: Vec<_> = incident.targets.iter().map(member).collect();
            writeln!(
                self.svg,
                "<line class=\"f\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{bottom:.1}\"/>\
                 <text class=\"s\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{} {}</text>",
                TOP - 4.0,
                TOP - 8.0,
                incident.kind,
                if whom.is_empty() { id.to_string() } else { whom.join(", ") },
            )?;
        }
        Ok(())
    }

    fn axis(&mut self) -> std::fmt::Result {
        let seconds = self.window.length().as_secs();
        let y = self.y + 6.0;
        for second in 0..=seconds {
            let at = self.window.from + std::time::Duration::from_secs(second);
            let x = self.x(at);
            writeln!(
                self.svg,
                "<text class=\"s\" x=\"{x:.1}\" y=\"{y:.1}\" \
                 text-anchor=\"middle\">{second} s</text>"
            )?;
        }
        Ok(())
    }

    fn legend(&mut self) -> std::fmt::Result {
        writeln!(
            self.svg,
            "<text x=\"10\" y=\"18\">Blue, green, brown: the member that serves. Red: nobody \
             does. Two bars shine through each other where two lead.</text>"
        )
    }
}
