//! What is shipped under `deploy/observability/`: rules that do what they say, files that parse, a
//! dashboard of metrics that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tandem::telemetry::names_metrics as metrics;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/observability")
}

fn promtool(args: &[&str]) {
    let output = Command::new("promtool").current_dir(folder()).args(args).output();
    let output = output.expect("promtool is there: tests/all --install brings it");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {args:?}: {said}{complained}");
}

#[test]
fn the_rules_work_as_described() {
    promtool(&["check", "rules", "rules.yaml"]);
    promtool(&["check", "config", "prometheus.yaml"]);
    promtool(&["check", "config", "prometheus.compose.yaml"]);
    promtool(&["test", "rules", "rules.test.yaml"]);
}

#[test]
fn every_file_parses() {
    let mut seen = 0;
    let mut folders = vec![folder()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let extension = path.extension().unwrap().to_str().unwrap();
            let shown = path.display();
            seen += 1;
            match extension {
                "yaml" => {
                    assert!(text.starts_with("# "), "{shown} begins by saying what it is for");
                    let parsed = serde_saphyr::from_str::<Value>(&text);
                    assert!(parsed.is_ok_and(|value| value.is_object()), "{shown}");
                }
                "json" => assert!(serde_json::from_str::<Value>(&text).is_ok(), "{shown}"),
                "md" => {}
                other => panic!("{shown}: what is a .{other}?"),
            }
        }
    }
    assert!(seen >= 10, "{seen} files");
}

#[test]
fn images_are_pinned_and_reachable_from_this_machine_alone() {
    let text = fs::read_to_string(folder().join("compose.yaml")).unwrap();
    let project: Value = serde_saphyr::from_str(&text).unwrap();
    for (name, service) in project["services"].as_object().unwrap() {
        let image = service["image"].as_str().unwrap();
        let version = image.rsplit_once(':').unwrap_or_else(|| panic!("{name}: {image}")).1;
        assert!(version.contains(|c: char| c.is_ascii_digit()), "{name}: {image}");
        for port in service["ports"].as_array().into_iter().flatten() {
            assert!(port.as_str().unwrap().starts_with("127.0.0.1:"), "{name}: {port}");
        }
        for volume in service["volumes"].as_array().into_iter().flatten() {
            let from = volume.as_str().unwrap().split(':').next().unwrap();
            let missing = from.starts_with("./") && !folder().join(from).exists();
            assert!(!missing, "{name}: there is no {from}");
        }
    }
}

/// The names under which Prometheus knows our instruments.
fn known() -> BTreeSet<String> {
    let written = |what: metrics::Described, suffixes: &[&str]| -> Vec<String> {
        let name = what.name.replace('.', "_");
        let unit = if what.unit == "s" { "_seconds" } else { "" };
        suffixes.iter().map(|suffix| format!("{name}{unit}{suffix}")).collect()
    };
    let gauges = [metrics::LEADERS, metrics::JOINT_LEADERS, metrics::FAULTS, metrics::LAG];
    let counters = [
        metrics::UNAVAILABLE,
        metrics::OVERLAP,
        metrics::UNKNOWN,
        metrics::TRANSITIONS,
        metrics::JOINT_UNAVAILABLE,
        metrics::LOST,
        metrics::LATE,
    ];
    let histograms = [metrics::GAP, metrics::OVERLAP_LENGTH, metrics::TAKEOVER];
    let gauges = gauges.into_iter().flat_map(|what| written(what, &[""]));
    let counters = counters.into_iter().flat_map(|what| written(what, &["_total"]));
    let histograms =
        histograms.into_iter().flat_map(|what| written(what, &["_bucket", "_sum", "_count"]));
    gauges.chain(counters).chain(histograms).collect()
}

/// The metrics of ours that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c| !word(c)).map(|word| word.trim_end_matches(':'));
    let labels = ["neli_role", "neli_group", "neli_fault_kind"];
    let ours = words.filter(|word| word.starts_with("neli_") && !labels.contains(word));
    ours.map(str::to_owned).collect()
}

#[test]
fn rules_and_dashboard_name_metrics_that_there_are() {
    let known = known();
    for file in ["rules.yaml", "rules.test.yaml", "slo.yaml", "grafana/dashboards/tandem.json"] {
        let text = fs::read_to_string(folder().join(file)).unwrap();
        let named = named(&text);
        assert!(!named.is_empty(), "{file}");
        let strange: Vec<_> = named.difference(&known).collect();
        assert!(strange.is_empty(), "{file} names {strange:?}");
    }
}

#[test]
fn the_dashboard_is_as_grafana_documents_dashboards() {
    let text = fs::read_to_string(folder().join("grafana/dashboards/tandem.json")).unwrap();
    let board: Value = serde_json::from_str(&text).unwrap();
    let uid = board["uid"].as_str().unwrap();
    assert!((8..=40).contains(&uid.len()), "a uid has 8 to 40 characters: {uid}");
    assert!(board["id"].is_null(), "Grafana's own database numbers it");
    for (field, is) in [
        ("title", board["title"].is_string()),
        ("tags", board["tags"].is_array()),
        ("time", board["time"]["from"].is_string() && board["time"]["to"].is_string()),
        ("schemaVersion", board["schemaVersion"].is_u64()),
        ("version", board["version"].is_u64()),
        ("refresh", board["refresh"].is_string()),
        ("graphTooltip", board["graphTooltip"].is_u64()),
        ("annotations", board["annotations"]["list"].is_array()),
        ("links", board["links"].is_array()),
    ] {
        assert!(is, "{field}");
    }
    let variables = board["templating"]["list"].as_array().unwrap();
    let datasource = variables.iter().find(|one| one["type"] == "datasource").unwrap();
    assert_eq!(
        (&datasource["name"], &datasource["query"]),
        (&"datasource".into(), &"prometheus".into())
    );
    let panels = board["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
    let kinds: BTreeSet<_> = panels.iter().map(|panel| panel["type"].as_str().unwrap()).collect();
    assert!(kinds.contains("state-timeline"), "{kinds:?}");
    for panel in panels {
        let at = &panel["gridPos"];
        let number = |field: &str| at[field].as_u64().unwrap();
        assert!(number("x") + number("w") <= 24 && number("h") > 0, "{panel}");
        assert!(panel["title"].is_string() && panel["fieldConfig"]["defaults"].is_object());
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{panel}");
            assert!(target["refId"].is_string() && target["expr"].is_string(), "{panel}");
        }
    }
}
