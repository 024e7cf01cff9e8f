//! A Prometheus of the test's own, with the rules that are shipped.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::experiment::eventually;
use super::web::{free_port, get, quoted};

/// It scrapes each second, and evaluates its rules as often.
pub struct Prometheus {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Prometheus {
    /// Starts one that scrapes `target`, and waits until it is ready.
    pub fn start(target: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rules = format!("{}/deploy/observability/rules.yaml", crate::ROOT);
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [{rules}]\n\
             scrape_configs:\n\
             - {{job_name: tandem, static_configs: [{{targets: [\"127.0.0.1:{target}\"]}}]}}\n"
        );
        let path = folder.path().join("prometheus.yaml");
        fs::write(&path, config).unwrap();
        let port = free_port();
        let log = File::create(folder.path().join("log")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("prometheus is there: tests/all --install brings it");
        let prometheus = Self { child, port, folder };
        let ready = || get(port, "/-/ready").ok().filter(|(status, _)| *status == 200);
        eventually("Prometheus", Duration::from_secs(60), ready);
        // It finds its targets some seconds later; what a counter says first must be 0.
        let scrapes = || (!prometheus.query("up").is_empty()).then_some(());
        eventually("a scrape", Duration::from_secs(60), scrapes);
        prometheus
    }

    /// What an expression is now: labels and values, or samples where it is a range.
    pub fn query(&self, expression: &str) -> Vec<Value> {
        let path = format!("/api/v1/query?query={}", quoted(expression));
        let (status, body) = get(self.port, &path).unwrap();
        assert_eq!(status, 200, "{expression}: {body}\n{}", self.log());
        let answer: Value = serde_json::from_str(&body).unwrap();
        answer["data"]["result"].as_array().unwrap().clone()
    }

    /// How often an alert was seen to fire.
    pub fn fired(&self, alert: &str) -> usize {
        let firing = format!("ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}}[15m]");
        self.query(&firing).len()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
