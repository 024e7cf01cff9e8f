//! Clients that others wrote, on the embedded broker as a process of its own, directly and through
//! an edge of the fault proxy: what they do on Kafka they do here. Needs kcat, Python with venv,
//! Java 17 with its compiler, Maven, Go and Node, and fails without them; `tests/all --install`
//! brings them.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may fail loudly"
)]

/// Each of these checks as two tests: on a broker, and on one behind an edge.
macro_rules! both_ways {
    ($($check:ident),+ $(,)?) => {
        mod direct {
            $(#[test]
            fn $check() {
                super::$check(&support::foreign::Broker::direct());
            })+
        }
        mod behind_an_edge {
            $(#[test]
            fn $check() {
                super::$check(&support::foreign::Broker::behind_an_edge());
            })+
        }
    };
}

mod consumer_protocol;
mod groups;
mod java;
mod kcat;
mod librdkafka;
mod python;
mod streams;
mod versions;
