//! Clients that others wrote, on the embedded broker as a process of its own, directly and through
//! an edge of the fault proxy: what they do on Kafka they do here. What takes long is tried in one
//! of these ways. Needs kcat, Python with venv, Java 17 with its compiler, Maven, Go and Node, and
//! fails without them; `tests/all --install` brings them.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may fail loudly"
)]

/// Each of these checks as a test on a broker.
macro_rules! directly {
    ($($check:ident),+ $(,)?) => {
        mod direct {
            $(#[test]
            fn $check() {
                super::$check(&support::foreign::Broker::direct());
            })+
        }
    };
}

/// Each of these checks as a test on a broker behind an edge.
macro_rules! by_an_edge {
    ($($check:ident),+ $(,)?) => {
        mod behind_an_edge {
            $(#[test]
            fn $check() {
                super::$check(&support::foreign::Broker::behind_an_edge());
            })+
        }
    };
}

/// Each of these checks as two tests, one of each kind.
macro_rules! both_ways {
    ($($check:ident),+ $(,)?) => {
        directly!($($check),+);
        by_an_edge!($($check),+);
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
