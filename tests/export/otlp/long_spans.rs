//! The end of a run with a hundred thousand spans: what arrives within two seconds, and that the
//! rest is reported. `tests/measure spans` writes a row into `chaos/RESULTS.md`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tandem::time::Wall;
use tandem::verdict::Telemetry;

use crate::otlp::beside::{Got, is_reported};
use crate::otlp::long::LATE_MS;
use crate::otlp::receiver::{Kept, Receiver};
use crate::otlp::runs::computed;
use crate::otlp::trouble::export;
use support::experiment::Experiment;
use support::results::{Claims, Row, append, tried};
use support::series::{PART_MAX, await_turn, folder};

/// A term of each role in each of three groups, and what a death moves, make seventeen thousand
/// spans a trial.
const ARGS: &str = "-f topologies/trio.yaml --set roles.count=3000";
/// Fewer prove nothing.
const SPANS_MIN: u64 = 100_000;
/// A collector may have taken this many more than it could say in time: one request.
const REQUEST_SPANS: u64 = 1_000;
/// What is written after the traces takes no longer.
const REST_MS: f64 = 250.0;
/// What a collector takes for a request that is far away, or busy.
const PAUSE: Duration = Duration::from_millis(50);

/// One run, exported to one collector.
struct Exported {
    telemetry: Telemetry,
    /// How many spans its journal has, as they were sent again to a collector with time.
    journal: u64,
    /// How many of the received spans are live operations, which are not in the journal.
    live: u64,
    got: u64,
    is_reported: bool,
    late_ms: f64,
    /// How long it was there after its traces stood on disk.
    rest_ms: f64,
}

impl Exported {
    fn to(kept: Kept, trials: u32) -> Self {
        await_turn();
        let receiver = Receiver::http(kept, None);
        let args = format!("{ARGS} --trials {trials} --otlp {}", receiver.url("http"));
        let order = Experiment::claimless("kill-leader").with(&args);
        let (run, late) = order.start().finish_timed(PART_MAX);
        let rest_ms = since_written(&run.out.join("traces.otlp.json"));
        eprintln!("{}{}", run.stdout, run.stderr);
        assert_eq!(run.code(), Some(0), "{run}");
        let telemetry = run.report().telemetry.unwrap_or_else(|| panic!("no telemetry: {run}"));
        let (spans, logs) = (receiver.spans(), receiver.logs());
        let got = spans.len() as u64;
        let live = got - computed(spans).len() as u64;
        let came = Got { spans: got, logs: logs.len() as u64, ..Got::default() };
        let is_reported = is_reported(&run, came);
        let patient = Receiver::http(Kept::default(), None);
        let again = export(&run.out, &patient, "http/protobuf");
        assert_eq!(again.0, Some(0), "all of it is taken where there is time: {}", again.1);
        let journal = patient.spans().len() as u64;
        let late_ms = late.as_secs_f64() * 1_000.0;
        Self { telemetry, journal, live, got, is_reported, late_ms, rest_ms }
    }

    /// How many the collector is said to have taken.
    fn taken(&self) -> u64 {
        self.telemetry.spans - self.telemetry.spans_lost
    }

    /// What is said to be taken and to be lost is all there is, and what is said to be taken came.
    fn is_exact(&self) -> bool {
        let more = self.got.checked_sub(self.taken());
        self.telemetry.spans == self.journal + self.live
            && more.is_some_and(|more| more <= REQUEST_SPANS)
    }

    /// The run waited at most two seconds for the collector: a document of a hundred megabytes may
    /// take longer, and then nothing is waited for after it.
    fn is_soon(&self) -> bool {
        self.late_ms <= LATE_MS || self.rest_ms <= REST_MS
    }
}

/// How long ago, in milliseconds, a file was put where it stands.
fn since_written(path: &Path) -> f64 {
    let file = std::fs::metadata(path).unwrap();
    let put = file.ctime() * 1_000 + file.ctime_nsec() / 1_000_000;
    let ago = u64::try_from(Wall::now().0 - put).unwrap_or_default();
    Duration::from_millis(ago).as_secs_f64() * 1_000.0
}

#[test]
#[ignore = "takes minutes: tests/measure spans"]
fn spans() {
    let folder = folder("spans");
    if folder.join("row").exists() {
        eprintln!("its row is there already");
        return;
    }
    let trials = tried().unwrap_or(7);
    let both = [Kept::default(), Kept::slow(PAUSE)].map(|kept| Exported::to(kept, trials));
    let mut claims = Claims::default();
    let least = both.iter().map(|one| one.telemetry.spans).min().unwrap();
    claims.add(format!("at least {SPANS_MIN} spans"), least, least >= SPANS_MIN);
    let count = |is: fn(&Exported) -> bool| both.iter().filter(|one| is(one)).count();
    let mut both_are = |text: String, is: fn(&Exported) -> bool| {
        claims.add(text, format!("in {} of 2 runs", count(is)), count(is) == 2);
    };
    both_are("taken and lost are all, exactly".to_owned(), Exported::is_exact);
    both_are("reported on the screen and in the result".to_owned(), |one| one.is_reported);
    let text = format!(
        "gone {LATE_MS} ms after the verdict, or {REST_MS} ms after the traces were written"
    );
    both_are(text, Exported::is_soon);
    let rows = both.iter().zip(["a collector", "one that takes 50 ms for each thousand"]);
    let rows = rows.map(|(one, who)| {
        let Telemetry { spans, spans_lost, .. } = &one.telemetry;
        let (taken, late) = (one.taken(), one.late_ms);
        format!(
            "{who} took {taken} of {spans} spans, {spans_lost} reported as lost, and got {}; gone \
            {late:.0} ms after the verdict, {:.0} ms after the traces were written",
            one.got, one.rest_ms
        )
    });
    let rows = rows.collect::<Vec<_>>().join("; ");
    let text = format!("3,000 roles in three groups, {trials} trials: {rows}");
    append("spans", &folder, &Row::without_trials(2 * trials, &text), &claims);
    claims.hold();
}
