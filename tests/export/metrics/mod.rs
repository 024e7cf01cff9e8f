//! Live metrics: the endpoint and its bounds, the cap on series, what is missed, and a real
//! Prometheus with the rules that are shipped. Needs `prometheus`, and fails without it;
//! `tests/all --install` brings it.

#![allow(unreachable_pub, clippy::float_cmp, reason = "a test may fail loudly")]

mod endpoint;
mod feed;
mod grafana;
mod up;
