//! A real Prometheus beside experiments: what it has counted when they end, and when its alerts
//! fire.

#![allow(clippy::float_cmp, reason = "a test may fail loudly")]

mod real;
