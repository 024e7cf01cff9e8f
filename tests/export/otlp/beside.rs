//! Runs of one trial next to each other in time, which differ in what becomes of their telemetry
//! and in nothing else.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::otlp::receiver::{Kept, Receiver};
use support::experiment::{Experiment, Finished};
use support::leftovers::family_in_trial;
use support::series::{PART_MAX, Part, await_turn, group_gaps, set_aside};
use support::usage::watch_survivors;
use support::web::{free_port, get};

/// A takeover is short, and hardly longer at one time than at another.
const ARGS: &str = "--trials 1 --set defaults.session=300ms";
/// From the beginning of the trial on: the death and the takeover are in it, and the restart is not
/// long over.
const WATCHED: Duration = Duration::from_secs(3);
/// So many requests are refused by a collector that is busy for a while.
const REFUSED: usize = 6;

/// What becomes of the telemetry of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// No metrics are requested.
    Off,
    /// A collector takes traces, logs and, each second, metrics, which are scraped as often, too.
    On,
    /// Its collector is killed in the middle.
    Killed,
    /// Its collector answers 503 in the middle, and recovers.
    Busy,
    /// Its collector accepts connections, and never answers.
    Mute,
}

impl Way {
    /// In the name of a folder.
    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Killed => "killed",
            Self::Busy => "busy",
            Self::Mute => "mute",
        }
    }
}

/// What a collector, and a scraper, received of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Got {
    pub(crate) spans: u64,
    pub(crate) logs: u64,
    pub(crate) exports: u64,
    pub(crate) scrapes: usize,
}

enum Collector {
    None,
    Real(Receiver),
    Mute(TcpListener),
}

impl Collector {
    fn start(way: Way) -> Self {
        match way {
            Way::Off => Self::None,
            Way::On | Way::Killed | Way::Busy => Self::Real(Receiver::http(Kept::default(), None)),
            // It listens, so the kernel takes connections and what is written to them.
            Way::Mute => Self::Mute(TcpListener::bind("127.0.0.1:0").unwrap()),
        }
    }

    fn sending_to(&self, order: Experiment) -> Experiment {
        let address = match self {
            Self::None => return order,
            Self::Real(receiver) => receiver.address,
            Self::Mute(listener) => listener.local_addr().unwrap(),
        };
        let order = order.with(&format!("--otlp http://{address}"));
        order.set("OTEL_METRIC_EXPORT_INTERVAL", "1000")
    }

    /// The middle of the run.
    fn struck(&mut self, way: Way) {
        match (self, way) {
            (Self::Real(receiver), Way::Killed) => receiver.kill(),
            (Self::Real(receiver), Way::Busy) => receiver.refuse(REFUSED),
            (Self::None | Self::Real(_) | Self::Mute(_), _) => {}
        }
    }

    fn got(&self) -> Got {
        let Self::Real(receiver) = self else { return Got::default() };
        let (spans, logs) = (receiver.spans().len() as u64, receiver.logs().len() as u64);
        Got { spans, logs, exports: receiver.exports(), scrapes: 0 }
    }
}

/// Scrapes an endpoint each second, until it is asked how often it did.
struct Scraper(Sender<()>, JoinHandle<usize>);

impl Scraper {
    fn start(port: u16) -> Self {
        let (stop, stopped) = channel();
        let scraping = std::thread::spawn(move || {
            let mut scrapes = 0;
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let page = get(port, "/metrics");
                scrapes += usize::from(page.is_ok_and(|(status, _)| status == 200));
            }
            scrapes
        });
        Self(stop, scraping)
    }

    fn scrapes(self) -> usize {
        drop(self.0);
        self.1.join().unwrap()
    }
}

/// What was measured beside a run, and not by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// How long it was there after its verdict, in milliseconds.
    pub(crate) late_ms: f64,
    /// What each of its members took that lived throughout, in percent of a core.
    pub(crate) members: Vec<f64>,
    /// The same of the controller.
    pub(crate) controller: f64,
    pub(crate) got: Got,
    /// Whether the screen and the result report the same losses, and no more items as accepted than
    /// arrived.
    pub(crate) is_reported: bool,
}

/// One run.
pub(crate) struct One {
    pub(crate) part: Part,
    pub(crate) seen: Seen,
}

impl One {
    fn read(out: &Path) -> Option<Self> {
        let seen = fs::read(out.join("seen.json")).ok()?;
        Some(Self { part: Part::read(out)?, seen: serde_json::from_slice(&seen).ok()? })
    }

    /// Plays it, unless it was played before.
    fn play(out: &Path, way: Way, seed: u32) -> Self {
        if let Some(one) = Self::read(out) {
            eprintln!("{} is there already", out.display());
            return one;
        }
        set_aside(out);
        await_turn();
        let (mut collector, port) = (Collector::start(way), free_port());
        let order = Experiment::new("chaos/kill-leader.yaml").with_rule().with(ARGS).into(out);
        let mut order = collector.sending_to(order.with(&format!("--seed {seed}")));
        if way == Way::On {
            order = order.with(&format!("--metrics 127.0.0.1:{port}"));
        }
        let run = order.start();
        let scraper = (way == Way::On).then(|| Scraper::start(port));
        let members = family_in_trial(&run).doing("member");
        assert_eq!(members.len(), 6);
        collector.struck(way);
        let watched = [&[run.pid()], &members[..]].concat();
        let used = watch_survivors(&watched, WATCHED);
        let used: Vec<_> = used.into_iter().map(|one| one.core_percent).collect();
        let (controller, members) = used.split_first().unwrap();
        let (run, late) = run.finish_timed(PART_MAX);
        let scrapes = scraper.map_or(0, Scraper::scrapes);
        let got = Got { scrapes, ..collector.got() };
        let seen = Seen {
            late_ms: late.as_secs_f64() * 1_000.0,
            members: members.to_vec(),
            controller: *controller,
            got,
            is_reported: is_reported(&run, got),
        };
        eprintln!("{}{}{seen:?}", run.stdout, run.stderr);
        fs::write(out.join("seen.json"), serde_json::to_vec(&seen).unwrap()).unwrap();
        Self::read(out).unwrap_or_else(|| panic!("it did not come to its end: {run}"))
    }

    /// The gaps that the death made, in milliseconds, the shortest first.
    pub(crate) fn gaps(&self) -> Vec<f64> {
        let spans = self.part.spans(group_gaps);
        spans.iter().map(|span| span.length.as_secs_f64() * 1_000.0).collect()
    }

    /// Whether all three signals arrived, and nothing was lost.
    pub(crate) fn arrived(&self) -> bool {
        let (sent, got) = (self.part.report.telemetry.as_ref(), self.seen.got);
        sent.is_some_and(|sent| !sent.lossy() && (sent.spans, sent.logs) == (got.spans, got.logs))
            && got.exports > 0
    }
}

/// Whether the screen says what the result says, and that is no more than what came.
pub(crate) fn is_reported(run: &Finished, got: Got) -> bool {
    let Some(sent) = run.report().telemetry else { return !run.stdout.contains("\ntelemetry ") };
    let lost = format!("lost {} spans, {} log records", sent.spans_lost, sent.logs_lost);
    let shown = [&run.stdout, &run.stderr].map(|text| text.contains(&lost));
    sent.describe().iter().all(|part| run.stdout.contains(part))
        && shown == [sent.lacks(); 2]
        && sent.spans - sent.spans_lost <= got.spans
        && sent.logs - sent.logs_lost <= got.logs
}

/// Plays each way once a round, in turn from the first on and from the last; the runs of each way.
pub(crate) fn rounds<const N: usize>(folder: &Path, ways: [Way; N], count: u32) -> [Vec<One>; N] {
    let mut all = [const { Vec::new() }; N];
    for number in 1..=count {
        let out = |way: Way| folder.join(format!("{number:02}-{}", way.name()));
        // The same choices for all runs; a drift affects all of them alike.
        let mut turn = ways;
        if number % 2 == 0 {
            turn.reverse();
        }
        let mut ones = turn.map(|way| One::play(&out(way), way, number));
        if number % 2 == 0 {
            ones.reverse();
        }
        all.iter_mut().zip(ones).for_each(|(runs, one)| runs.push(one));
    }
    all
}
