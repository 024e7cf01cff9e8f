//! A member's consumer reads on while what it holds changes: the partition on which all members
//! state what they lead is read without a break. How soon it reads a new one is measured in
//! `tests/measured/broker/reading.rs`.

use std::time::Duration;

use support::reader::{PATIENCE, Reader};
use tandem::time::Mono;

const MESSAGES: u64 = 600;
/// What it holds in turn, ten messages each.
const HOLDINGS: [&[u32]; 5] = [&[], &[0, 2], &[2, 1], &[0], &[3]];

#[test]
fn what_all_members_read_is_read_without_a_break_while_holdings_change() {
    let mut reader = Reader::new();
    let began = Mono::now();
    let (mut sent, mut next) = (0, 1);
    while next <= MESSAGES {
        assert!(Mono::now().since(began) < PATIENCE, "{next} of {MESSAGES} messages are read");
        if sent < MESSAGES {
            sent += 1;
            reader.publish(0, sent);
        }
        if sent % 10 == 0 && sent < MESSAGES {
            reader.hold(HOLDINGS[usize::try_from(sent / 10).unwrap() % HOLDINGS.len()]);
        }
        while let Some(heard) = reader.heard(Duration::from_millis(2)) {
            match heard.sent.unwrap() {
                Mono(0) => assert_eq!(next, 1, "an old message is read again"),
                Mono(number) => {
                    assert_eq!(number, next, "a message is lost or read twice");
                    next += 1;
                }
            }
        }
    }
}
