//! With the documented rights everything works; where one is missing, a message says who lacks
//! which right on what. `tests/measured/kafka/secure` takes away each of them in turn.

use support::experiment::eventually;
use support::kafka::members::SOON;
use support::kafka::secured::{Secured, refused, said};

const GROUP: [&str; 4] = ["--resource-pattern-type", "prefixed", "--group", "kafka-secure-"];

#[test]
fn a_missing_right_is_reported_with_its_user_and_resource() {
    let secured = Secured::sole_alone();
    // A broker learns a moment after the tool that rights have changed.
    let doctor = |what: &str, code: i32| {
        let ends = || Some(said(secured.doctor(&[]))).filter(|done| done.code == Some(code));
        eventually(what, SOON, ends)
    };
    let without = || doctor("a doctor that misses a right", 1);
    let done = secured.without("tandem-member", "Read", &GROUP, without);
    refused(&done, "user tandem-member lacks the right Read on consumer group kafka-secure-p1");
    let done = doctor("a doctor that has all rights", 0);
    assert!(!done.text.contains("warn"), "{}", done.text);
}
