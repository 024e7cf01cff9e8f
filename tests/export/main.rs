//! What leaves a run: OTLP, Prometheus, Grafana, the page in a browser.

mod html_report;
mod otlp;
