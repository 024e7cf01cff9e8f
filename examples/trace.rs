//! Draws one trace of a run's traces.otlp.json as an SVG, as pages for traces do it: a bar a span,
//! and a line from each gap or overlap to the fault that caused it.
//!
//! ```sh
//! cargo run --release --example trace -- tandem-out/<run>/traces.otlp.json 1 > trace.svg
//! ```

#![allow(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "pixels need no exactness, and the picture is what this prints"
)]

use std::error::Error;
use std::fmt::Write;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;

const LEFT: f64 = 330.0;
const WIDTH: f64 = 650.0;
const ROW: f64 = 17.0;
const TOP: f64 = 48.0;
const STYLE: &str = "text{font:12px 'DejaVu Sans',sans-serif;fill:#333}.s{font-size:10px;fill:#666}\
    .l{stroke:#d03030;fill:none;stroke-dasharray:3 3}.t{stroke:#ddd}";

struct Picture<'a> {
    spans: Vec<&'a Span>,
    from: u64,
    until: u64,
    svg: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: trace TRACES.otlp.json [TRIAL]";
    let text = std::fs::read_to_string(arguments.next().ok_or(usage)?)?;
    let trial: i64 = arguments.next().map_or(Ok(1), |number| number.parse())?;
    let document: ExportTraceServiceRequest = serde_json::from_str(&text)?;
    let scopes = document.resource_spans.iter().flat_map(|one| &one.scope_spans);
    let of_trial = |span: &&Span| number(span, "neli.trial") == Some(trial);
    let mut spans: Vec<_> = scopes.flat_map(|one| &one.spans).filter(of_trial).collect();
    let root = spans.iter().find(|span| span.name == "chaos.trial").ok_or("no such trial")?;
    let (from, until) = (root.start_time_unix_nano, root.end_time_unix_nano);
    spans.sort_by_key(|span| place(span));
    let mut picture = Picture { spans, from, until, svg: String::new() };
    picture.draw()?;
    let height = picture.y(picture.spans.len()) + 12.0;
    println!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 {height}\" role=\"img\">\n\
         <title>The trace of trial {trial}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"1000\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>",
        picture.svg
    );
    Ok(())
}

/// Where a span stands: the trial, its faults, then each group's roles in time.
fn place(span: &Span) -> (u8, String, String, u64) {
    let kind = match span.name.as_str() {
        "chaos.trial" => 0,
        "fault.window" => 1,
        _ => 2,
    };
    let of = |key| text(span, key).unwrap_or_default();
    // All groups together come last.
    let kind = if text(span, "neli.scope").as_deref() == Some("joint") { 3 } else { kind };
    (kind, of("neli.group"), of("neli.role"), span.start_time_unix_nano)
}

fn value<'a>(span: &'a Span, key: &str) -> Option<&'a Value> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    found.value.as_ref()?.value.as_ref()
}

fn text(span: &Span, key: &str) -> Option<String> {
    if let Value::StringValue(text) = value(span, key)? { Some(text.clone()) } else { None }
}

fn number(span: &Span, key: &str) -> Option<i64> {
    if let Value::IntValue(number) = value(span, key)? { Some(*number) } else { None }
}

/// What tells it from others of its name.
fn label(span: &Span) -> String {
    let of = |key| text(span, key).unwrap_or_default();
    let group = text(span, "neli.group").unwrap_or_else(|| of("neli.scope"));
    match span.name.as_str() {
        "chaos.trial" => format!("trial {}", number(span, "neli.trial").unwrap_or_default()),
        "fault.window" => format!("{} {}", of("neli.fault.id"), of("neli.fault.kind")),
        "leadership" => {
            let incarnation = number(span, "neli.incarnation").unwrap_or_default();
            format!("{} {group} {}.{incarnation}", of("neli.role"), of("neli.member"))
        }
        _ => format!("{} {group}", of("neli.role")),
    }
}

fn colour(span: &Span) -> &'static str {
    match span.name.as_str() {
        "chaos.trial" => "#888",
        "fault.window" => "#e0a030",
        "leadership" => "#78a860",
        "leadership.overlap" => "#8868b0",
        _ => "#d03030",
    }
}

impl Picture<'_> {
    fn x(&self, at: u64) -> f64 {
        let all = (self.until - self.from) as f64;
        LEFT + WIDTH * (at.saturating_sub(self.from) as f64 / all).clamp(0.0, 1.0)
    }

    fn y(&self, row: usize) -> f64 {
        TOP + ROW * row as f64
    }

    fn draw(&mut self) -> std::fmt::Result {
        let seconds = (self.until - self.from).div_ceil(1_000_000_000);
        let bottom = self.y(self.spans.len());
        let legend = "A bar a span. Green: a member claims a role. Red: no member serves it. \
            Purple: two claim it. Dashed: a link to the fault that caused it.";
        writeln!(self.svg, "<text x=\"10\" y=\"18\">{legend}</text>")?;
        for second in 0..seconds {
            let x = self.x(self.from + second * 1_000_000_000);
            let line = format!("x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"");
            writeln!(self.svg, "<line class=\"t\" {line}/>")?;
            let y = TOP - 6.0;
            writeln!(self.svg, "<text class=\"s\" x=\"{x:.1}\" y=\"{y}\">{second} s</text>")?;
        }
        for row in 0..self.spans.len() {
            self.span(row)?;
        }
        Ok(())
    }

    fn span(&mut self, row: usize) -> std::fmt::Result {
        let Some(&span) = self.spans.get(row) else { return Ok(()) };
        let (y, x) = (self.y(row), self.x(span.start_time_unix_nano));
        let width = (self.x(span.end_time_unix_nano) - x).max(1.5);
        let (fill, name, base) = (colour(span), &span.name, y + 11.0);
        let indent = if name == "chaos.trial" { 10 } else { 22 };
        writeln!(self.svg, "<text x=\"{indent}\" y=\"{base:.1}\">{name}</text>")?;
        let what = label(span);
        writeln!(self.svg, "<text class=\"s\" x=\"160\" y=\"{base:.1}\">{what}</text>")?;
        let place = format!("x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\"", y + 2.0);
        writeln!(self.svg, "<rect {place} height=\"11\" fill=\"{fill}\"/>")?;
        let ms = (span.end_time_unix_nano - span.start_time_unix_nano) as f64 / 1e6;
        if name != "leadership" && width < 200.0 {
            let x = x + width + 4.0;
            writeln!(self.svg, "<text class=\"s\" x=\"{x:.1}\" y=\"{base:.1}\">{ms:.0} ms</text>")?;
        }
        for link in &span.links {
            let cause = self
                .spans
                .iter()
                .position(|one| one.name == "fault.window" && one.span_id == link.span_id);
            if let Some(cause) = cause {
                let from = self.y(cause) + 13.0;
                let middle = y + 7.0;
                let path = format!("M{x:.1} {middle:.1} H{:.1} V{from:.1}", x - 8.0);
                writeln!(self.svg, "<path class=\"l\" d=\"{path}\"/>")?;
            }
        }
        Ok(())
    }
}
