//! The embedded broker as the subject of the coordinator's transcripts: it must answer what is
//! written in `tests/data/coordinator/*.txt` and `tests/data/consumer/*.txt`, as the core does.

use support::coordinator::embedded::Embedded;
use support::coordinator::parity;
use support::coordinator::remote::Remote;

#[test]
fn the_embedded_broker_answers_as_it_is_written() {
    let embedded = Embedded::new();
    // One protocol after the other: too many plays at once are late.
    for folder in ["coordinator", "consumer"] {
        parity::assert_parity(&parity::transcripts(folder), |name, groups| {
            Remote::new(embedded.start(groups), &["here"], name)
        });
    }
}
