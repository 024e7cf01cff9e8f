//! What the environment says, and what is refused before anything starts.

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry_sdk::metrics::Temporality;
use tandem::telemetry::{ExportSettings, ExportSettingsError, Protocol};

use support::experiment::{Experiment, tandem};

fn read(
    flag: Option<&str>,
    set: &[(&str, &str)],
) -> Result<Option<ExportSettings>, ExportSettingsError> {
    let set: BTreeMap<_, _> = set.iter().copied().collect();
    ExportSettings::read(flag, |name| set.get(name).map(|value| (*value).to_owned()))
}

fn refused(set: &[(&str, &str)]) -> String {
    let error = read(None, set).unwrap_err();
    tandem::error::chain(&error)
}

const PREFERENCE: &str = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
const ALL: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");

#[test]
fn nothing_is_sent_unless_a_collector_is_named() {
    assert_eq!(read(None, &[]).unwrap(), None);
    assert_eq!(read(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).unwrap(), None);
    // What is off may be written wrongly.
    assert_eq!(read(None, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon")]).unwrap(), None);
    let disabled = [ALL, ("OTEL_SDK_DISABLED", "True")];
    assert_eq!(read(Some("http://127.0.0.1:1"), &disabled).unwrap(), None);
}

#[test]
fn each_signal_has_its_path_and_its_own_variables() {
    let settings = read(
        None,
        &[
            ALL,
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://127.0.0.1:9/logs"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "500"),
            ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,b=2"),
        ],
    );
    let settings = settings.unwrap().unwrap();
    let (traces, logs) = (settings.traces.unwrap(), settings.logs.unwrap());
    assert_eq!(traces.url.as_str(), "http://127.0.0.1:4318/v1/traces");
    assert_eq!(logs.url.as_str(), "http://127.0.0.1:9/logs");
    assert_eq!((traces.gzip, logs.gzip), (false, true));
    assert_eq!([traces.timeout, logs.timeout], [250, 500].map(Duration::from_millis));
    assert_eq!(traces.headers.len(), 2);
    assert_eq!(settings.metrics, None);
}

#[test]
fn the_command_line_has_the_last_word() {
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/x");
    let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let settings = read(Some("http://127.0.0.1:5/base/"), &[ALL, own]).unwrap().unwrap();
    assert_eq!(settings.traces.unwrap().url.as_str(), "http://127.0.0.1:5/base/v1/traces");
    let settings = read(Some("http://127.0.0.1:5"), &[grpc]).unwrap().unwrap();
    let traces = settings.traces.unwrap();
    assert_eq!((traces.url.as_str(), traces.protocol), ("http://127.0.0.1:5/", Protocol::Grpc));
}

#[test]
fn invalid_values_are_refused_with_a_hint() {
    let refuses = |name: &str, value: &str, problem: &str| {
        let text = refused(&[ALL, (name, value)]);
        assert!(text.starts_with(name) && text.contains(problem), "{text}");
    };
    refuses(
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "http/json",
        "write http/protobuf, the default, or grpc",
    );
    refuses("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere.pem", "cannot read /nowhere.pem");
    refuses("OTEL_EXPORTER_OTLP_CERTIFICATE", "Cargo.toml", "no certificate in PEM");
    refuses("OTEL_EXPORTER_OTLP_CLIENT_KEY", "k.pem", "both or neither");
    refuses("OTEL_TRACES_EXPORTER", "zipkin", "write otlp, or none");
    refuses("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318", "write an address");
    refuses(PREFERENCE, "sometimes", "write cumulative, the default, delta or lowmemory");
    let secret = refused(&[ALL, ("OTEL_EXPORTER_OTLP_HEADERS", "authorization: Bearer s3cret")]);
    assert!(secret.contains("is not a list of headers") && !secret.contains("s3cret"), "{secret}");
}

/// They do not change where and how data goes, and the environment may be that of other programs.
#[test]
fn other_invalid_values_and_what_has_no_effect_are_noted() {
    let set = [
        ALL,
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
        ("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
        ("OTEL_RESOURCE_ATTRIBUTES", "pricing"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
        ("OTEL_BSP_SCHEDULE_DELAY", "1"),
    ];
    let settings = read(None, &set).unwrap().unwrap();
    assert!(settings.attributes.is_empty(), "{:?}", settings.attributes);
    let logs = settings.logs.unwrap();
    assert_eq!((logs.gzip, logs.timeout), (false, Duration::from_secs(10)));
    let notes = settings.notes.join("\n");
    for noted in [
        "OTEL_EXPORTER_OTLP_TIMEOUT is \"10s\": write a whole number of milliseconds",
        "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT is \"0\": write a whole number of milliseconds",
        "OTEL_EXPORTER_OTLP_COMPRESSION is \"zstd\": write gzip, or none",
        "OTEL_RESOURCE_ATTRIBUTES has no key=value at position 1",
        "no effect here: OTEL_BSP_SCHEDULE_DELAY, OTEL_TRACES_SAMPLER",
    ] {
        assert_eq!(notes.matches(noted).count(), 1, "{noted} in {notes}");
    }
}

#[test]
fn points_count_from_where_the_preference_says() {
    for (value, temporality) in
        [("delta", Temporality::Delta), ("Cumulative", Temporality::Cumulative)]
    {
        let settings = read(None, &[ALL, (PREFERENCE, value)]).unwrap().unwrap();
        assert_eq!(settings.temporality, temporality);
    }
}

#[test]
fn a_wrong_setting_ends_a_run_before_it_begins() {
    let order = Experiment::calm("1s").with("--trials 1 --otlp collector");
    let run = order.finish();
    assert_eq!(run.code(), Some(2), "{run}");
    assert!(run.stderr.contains("--otlp is not an address of a collector: write"), "{run}");
    assert!(!run.out.exists(), "nothing was made: {run}");
}

#[test]
fn an_export_without_a_collector_is_refused() {
    let state = tempfile::tempdir().unwrap();
    let done = tandem(state.path()).args(["export", "."]).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(stderr.contains("name a collector with --otlp URL"), "{stderr}");
}

#[test]
fn an_export_of_nothing_says_so_and_sends_the_rest() {
    let receiver =
        crate::otlp::receiver::Receiver::http(crate::otlp::receiver::Kept::default(), None);
    let (state, journal) = (tempfile::tempdir().unwrap(), crate::otlp::many::written(1));
    let mut command = tandem(state.path());
    command.args(["export", "--otlp", &receiver.url("http")]).arg(state.path());
    let done = command.arg(journal.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(stderr.contains("cannot judge the run"), "{stderr}");
    assert!(!receiver.spans().is_empty(), "the other one was sent");
}
