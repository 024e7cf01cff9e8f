//! Real runs, exported to collectors live and again.

use std::fs;
use std::process::Output;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;

use crate::otlp::agrees::{attribute, logs_agree, named, spans_agree};
use crate::otlp::certificates::Certificates;
use crate::otlp::receiver::{Kept, Receiver};
use crate::otlp::trouble::PATIENT;
use support::experiment::{Experiment, Finished, tandem};

/// A short run with two kills in it. What is answered late is not sent again.
fn kills() -> Experiment {
    let order = Experiment::claimless("kill-leader");
    let order = order.with("--trials 2 --set defaults.session=500ms");
    order.set("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
}

/// The spans that are computed from the journal; the others are live operations.
pub(crate) fn computed(spans: Vec<Span>) -> Vec<Span> {
    let names = ["chaos.run", "chaos.trial", "fault.window", "leadership"];
    let ours = |span: &Span| names.iter().any(|name| span.name.starts_with(name));
    spans.into_iter().filter(ours).collect()
}

/// What is said to be taken arrived, and agrees with the journal. That is all of it, but for what
/// is reported as lost: at its end a run waits two seconds for its collector, and no longer.
fn arrived(run: &Finished, receiver: &Receiver) {
    run.sound();
    let sent = run.report().telemetry.unwrap_or_else(|| panic!("no telemetry: {run}"));
    let (spans, logs) = (receiver.spans(), receiver.logs());
    let got = (spans.len() as u64, logs.len() as u64);
    let taken = (sent.spans - sent.spans_lost, sent.logs - sent.logs_lost);
    assert!(taken.0 <= got.0 && taken.1 <= got.1, "{got:?}: {run}");
    let metrics = sent.metrics.clone().unwrap_or_else(|| panic!("no metrics: {run}"));
    assert!(metrics.exports - metrics.exports_lost <= receiver.exports(), "{run}");
    assert!(run.stdout.contains("\ntelemetry "), "{run}");
    if sent.lossy() {
        assert!(run.stderr.contains("lost"), "{run}");
        eprintln!("not all of it arrived in time: {sent:?}");
        return;
    }
    assert_eq!((sent.spans, sent.logs), got, "{run}");
    assert_eq!((&sent.why, &metrics.why), (&None, &None), "{run}");
    assert_eq!(metrics.exports, receiver.exports(), "{run}");
    assert!(!run.stderr.contains("telemetry"), "{run}");
    let (recording, spans) = (run.recording(), computed(spans));
    spans_agree(&recording, &spans);
    logs_agree(&recording, &spans, &logs);
}

/// Sends a run again; there is time enough for that.
fn export(run: &Finished, variables: &[(&str, &str)]) -> Output {
    let mut command = tandem(run.folder.path());
    command.arg("export").args(PATIENT).arg(&run.out).envs(variables.iter().copied());
    command.output().unwrap()
}

#[test]
fn a_run_is_exported_live_over_http_and_again_over_every_other_way() {
    let receiver = Receiver::http(Kept::default(), None);
    let run = kills()
        .with(&format!("--otlp {}", receiver.url("http")))
        .set("OTEL_RESOURCE_ATTRIBUTES", "team=pricing%20desk,tandem.run=mine")
        .set("OTEL_SERVICE_NAME", "elections")
        .finish();
    arrived(&run, &receiver);
    let (recording, resource) = (run.recording(), receiver.resource());
    assert_eq!(resource["service.name"], "elections");
    assert_eq!(resource["team"], "pricing desk");
    assert_eq!(resource["tandem.run"], recording.header.run);
    assert_eq!(resource["tandem.experiment"], "kill-leader");
    let again = again_over_http_with_all_that_there_is(&run, &receiver);
    is_a_file_as_well(&run, &again);
    assert_eq!(sorted(&again_over_grpc(&run, &receiver)), sorted(&again));
}

/// The file holds the same spans, in OTLP's JSON.
fn is_a_file_as_well(run: &Finished, receiver: &Receiver) {
    let text = fs::read_to_string(run.out.join("traces.otlp.json")).unwrap();
    let document: ExportTraceServiceRequest = serde_json::from_str(&text).unwrap();
    let spans = document.resource_spans[0].scope_spans[0].spans.clone();
    let mut got = computed(receiver.spans());
    got.sort_by_key(|span| spans.iter().position(|one| one.span_id == span.span_id));
    assert_eq!(spans, got);
    let plain: serde_json::Value = serde_json::from_str(&text).unwrap();
    let span = &plain["resourceSpans"][0]["scopeSpans"][0]["spans"][1];
    assert_eq!(span["traceId"].as_str().map(str::len), Some(32), "hex: {span}");
    assert_eq!(span["spanId"].as_str().map(str::len), Some(16), "hex: {span}");
    assert!(span["startTimeUnixNano"].is_string(), "64 bits as text: {span}");
    assert!(!text.contains(":null"), "protobuf's JSON has no null that means anything");
    let trial = span["attributes"].as_array().unwrap();
    assert!(trial.iter().any(|it| it["value"]["intValue"].is_string()), "{span}");
    // Judged again, it is the same to the byte, and what was sent is still known.
    let before = run.result();
    assert_eq!(run.judged_again().status.code(), run.code(), "{run}");
    assert_eq!(run.result(), before, "{run}");
    assert_eq!(fs::read_to_string(run.out.join("traces.otlp.json")).unwrap(), text);
}

fn again_over_http_with_all_that_there_is(run: &Finished, before: &Receiver) -> Receiver {
    let certificates = Certificates::new();
    let receiver = Receiver::http(Kept::default(), Some(&certificates));
    let path = |name| certificates.path(name).display().to_string();
    let (url, authority) = (receiver.url("https"), path("authority.pem"));
    let done = export(
        run,
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", &authority),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &path("client.pem")),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", &path("client.key")),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20abc"),
        ],
    );
    same_again(run, &done, before, &receiver);
    assert_eq!(receiver.header("content-encoding").as_deref(), Some("gzip"));
    assert_eq!(receiver.header("authorization").as_deref(), Some("Basic abc"));
    // A collector without a trusted certificate is rejected, and the loss is reported.
    let done = export(run, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    assert_eq!(done.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(stderr.contains("lost") && stderr.contains("certificate"), "{stderr}");
    receiver
}

fn again_over_grpc(run: &Finished, before: &Receiver) -> Receiver {
    let certificates = Certificates::new();
    let receiver = Receiver::grpc(Kept::default(), Some(&certificates));
    let path = |name| certificates.path(name).display().to_string();
    let done = export(
        run,
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &receiver.url("https")),
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", &receiver.url("https")),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", &path("authority.pem")),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &path("client.pem")),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", &path("client.key")),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-scope-orgid=desk"),
        ],
    );
    same_again(run, &done, before, &receiver);
    assert_eq!(receiver.header("grpc-encoding").as_deref(), Some("gzip"));
    assert_eq!(receiver.header("x-scope-orgid").as_deref(), Some("desk"));
    receiver
}

fn sorted(receiver: &Receiver) -> Vec<Span> {
    let mut spans = computed(receiver.spans());
    spans.sort_by(|one, other| {
        (&one.trace_id, &one.span_id).cmp(&(&other.trace_id, &other.span_id))
    });
    spans
}

/// What is sent twice is the same, and the second time all of it arrives.
fn same_again(run: &Finished, done: &Output, before: &Receiver, receiver: &Receiver) {
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let (recording, spans) = (run.recording(), receiver.spans());
    spans_agree(&recording, &spans);
    logs_agree(&recording, &spans, &receiver.logs());
    assert_eq!(kinds(&spans), ["kill", "kill"], "{run}");
    for span in computed(before.spans()) {
        assert!(spans.contains(&span), "{span:?}");
    }
}

/// What the faults were.
fn kinds(spans: &[Span]) -> Vec<String> {
    named(spans, "fault.window").iter().map(|one| attribute(one, "neli.fault.kind")).collect()
}

#[test]
fn a_run_is_exported_live_over_grpc() {
    let receiver = Receiver::grpc(Kept::default(), None);
    let order = kills().set("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let run = order.set("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url("http")).finish();
    arrived(&run, &receiver);
}
