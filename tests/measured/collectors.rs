//! Collectors and a Grafana that are silent or gone: how long an end waits for them. That it comes,
//! and that losses are reported, `tests/export` has.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use rustix::process::Signal;
use tandem::live_view::Level;
use tandem::time::Mono;

use support::experiment::{Experiment, Running, claimless, eventually};
use support::measured::turn;
use support::stalls::Watch;
use support::up::Up;

/// The exit may be later than the verdict, or than the end of its members, by this, and by what the
/// host takes meanwhile.
const LATE: Duration = Duration::from_millis(3_000);

/// No verdict takes longer.
const VERDICT: Duration = Duration::from_secs(120);

/// Nothing listens there, on a port that no process gets which asks for any.
const GONE: &str = "127.0.0.1:1";

/// It does nothing for a second, and claims nothing.
fn calm() -> Experiment {
    let text = claimless("calm").replace("for: 60s", "for: 1s");
    Experiment::of("calm.yaml", &text).with("--trials 1")
}

/// Waits for the verdict; the exit must follow soon.
fn finishes_in_time(running: Running) {
    let watch = Watch::begin();
    watch.add(running.pid());
    let (run, late) = running.finish_timed(VERDICT);
    let ended = Mono::now();
    let late_ns = u64::try_from(late.as_nanos()).unwrap();
    let stalled = watch.total(Mono(ended.0.saturating_sub(late_ns)), ended);
    assert!(late < LATE + stalled, "{late:?} after the verdict, {stalled:?} of it stalled: {run}");
}

/// One that listens, so the kernel takes connections and what is written to them, and never
/// answers.
fn mute() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

#[test]
fn a_collector_that_is_silent_or_gone_does_not_delay_a_run() {
    let _turn = turn();
    let mute = mute();
    for address in [mute.local_addr().unwrap().to_string(), GONE.to_owned()] {
        for protocol in ["http/protobuf", "grpc"] {
            let order = calm().with(&format!("--otlp http://{address}"));
            finishes_in_time(order.set("OTEL_EXPORTER_OTLP_PROTOCOL", protocol).start());
        }
    }
}

#[test]
fn a_grafana_that_is_silent_does_not_delay_a_run() {
    let _turn = turn();
    let mute = mute();
    let args = format!("--trials 1 --grafana http://{}", mute.local_addr().unwrap());
    finishes_in_time(Experiment::claimless("kill-leader").with(&args).start());
}

#[test]
fn a_collector_that_is_silent_or_gone_does_not_delay_the_end_of_what_is_kept_up() {
    let _turn = turn();
    let (mute, watch) = (mute(), Watch::begin());
    for address in [mute.local_addr().unwrap().to_string(), GONE.to_owned()] {
        let mut up = Up::start(&format!("-f topologies/solo.yaml --otlp http://{address}"));
        watch.add(up.pid());
        up.await_health(Level::Led);
        up.signal(Signal::INT);
        let ledgers = up.state().join("tandem/runs");
        eventually("the end of its members", Duration::from_secs(60), || {
            (fs::read_dir(&ledgers).into_iter().flatten().count() == 0).then_some(())
        });
        let left = Mono::now();
        assert_eq!(up.ends().code(), Some(0), "{}", up.said());
        let late = Mono::now().since(left);
        let most = LATE + watch.total(left, Mono::now());
        assert!(late < most, "{late:?} after its members, not {most:?}: {}", up.said());
    }
}
