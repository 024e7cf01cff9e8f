//! What leaves a run: OTLP, Prometheus, Grafana, the page in a browser.

mod otlp;
mod page;
