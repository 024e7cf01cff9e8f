//! What leaves a run: OTLP, Prometheus, Grafana, the page on a terminal and in a browser.

mod html_report;
mod metrics;
mod otlp;
mod readme;
mod single;
