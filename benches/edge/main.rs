//! What it costs to go through an edge: the same client speaks to the embedded broker directly and
//! through an edge, in turn, in pairs that are next to each other in time, so that what else the
//! machine does hits both. What is compared is compared within a pair.
//!
//! `cargo bench --bench edge` prints the table; nothing is asserted of time.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a measurement may fail loudly"
)]

mod speaker;

use std::fmt;
use std::fs;

use speaker::Speaker;
use support::broker_process::BrokerProcess;
use support::edge::process::Edges;

/// How often each way is measured.
const PAIRS: usize = 21;
/// Requests of a round, one after the other.
const SMALL: usize = 1_000;
/// What a round writes, or reads, in batches.
const STREAM: usize = 32 << 20;

/// One number a pair, and its unit: directly, and through the edge.
struct Row {
    what: &'static str,
    unit: &'static str,
    pairs: Vec<[f64; 2]>,
}

impl Row {
    fn new(what: &'static str, unit: &'static str) -> Self {
        Self { what, unit, pairs: Vec::new() }
    }

    fn of(&self, number: impl Fn(&[f64; 2]) -> f64) -> Spread {
        let mut all: Vec<_> = self.pairs.iter().map(number).collect();
        all.sort_by(f64::total_cmp);
        Spread([all[all.len() / 2], all[0], all[all.len() - 1]])
    }
}

/// Median, least and most.
struct Spread([f64; 3]);

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(0);
        let [median, least, most] = self.0.map(|number| format!("{number:.digits$}"));
        let text = format!("{median} ({least} to {most})");
        let width = f.width().unwrap_or(0);
        write!(f, "{text:>width$}")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = format!("{}, {}", self.what, self.unit);
        let (direct, edge) = (self.of(|pair| pair[0]), self.of(|pair| pair[1]));
        let ratio = self.of(|pair| pair[1] / pair[0]);
        write!(f, "{what:<18} {direct:>22} {edge:>22} {ratio:>22.2}")?;
        if self.unit == "us" {
            write!(f, " {:>22}", self.of(|pair| pair[1] - pair[0]))?;
        }
        Ok(())
    }
}

fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn main() {
    // A run of all targets as tests only sees that it works.
    let pairs = if std::env::args().any(|argument| argument == "--bench") { PAIRS } else { 1 };
    let broker = BrokerProcess::start();
    let mut edges = Edges::start();
    let edge = edges.open("p1-1", &broker.address);
    let mut ways = [&broker.address, &edge].map(|address| Speaker::connect(address));
    for topic in ["written", "read"] {
        ways[0].create(topic);
    }
    // What is read all the time; and both ways are warm.
    ways[0].write("read", STREAM);
    for way in &mut ways {
        way.small(SMALL);
        way.read("read", STREAM);
    }
    let mut rows = [
        Row::new("heartbeat, p50", "us"),
        Row::new("heartbeat, p95", "us"),
        Row::new("produce", "MiB/s"),
        Row::new("fetch", "MiB/s"),
    ];
    let before = load();
    for pair in 0..pairs {
        // Who is first changes from pair to pair.
        let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
        let mut numbers = [[0.0; 2]; 4];
        for way in order {
            [numbers[0][way], numbers[1][way]] = ways[way].small(SMALL);
        }
        for way in order {
            numbers[2][way] = ways[way].write("written", STREAM);
        }
        for way in order {
            numbers[3][way] = ways[way].read("read", STREAM);
        }
        for (row, numbers) in rows.iter_mut().zip(numbers) {
            row.pairs.push(numbers);
        }
    }
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{pairs} pairs: median (least to most); {cores} cores, load {before} to {}", load());
    let [direct, edge, ratio, more] = ["direct", "edge", "edge/direct", "added"];
    println!("{:<18} {direct:>22} {edge:>22} {ratio:>22} {more:>22}", "");
    for row in &rows {
        println!("{row}");
    }
}
