//! ConsumerProtocol as bytes: written as Kafka's schemas say, and read from any version.

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::cases::cases;
use tandem::ids::PartitionId;
use tandem::neli::membership::{
    Assignor, Partitions, StickyData, Subscription, decode_assignment, encode_assignment,
    heeds_unreachable,
};

fn partitions(of: &[(&str, &[u32])]) -> Partitions {
    let some = |ks: &[u32]| ks.iter().copied().map(PartitionId).collect::<BTreeSet<_>>();
    of.iter().map(|(topic, ks)| ((*topic).to_owned(), some(ks))).collect()
}

fn subscription() -> Subscription {
    Subscription {
        topics: BTreeSet::from(["t".to_owned()]),
        user_data: vec![9],
        owned: partitions(&[("t", &[1, 258])]),
        generation: Some(5),
    }
}

/// By hand, from `ConsumerProtocolSubscription.json`.
const WRITTEN: &[u8] = b"\x00\x03\
    \x00\x00\x00\x01\x00\x01t\
    \x00\x00\x00\x01\x09\
    \x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x01\x02\
    \x00\x00\x00\x05\
    \xff\xff";

#[test]
fn a_subscription_is_written_in_version_3() {
    assert_eq!(subscription().encode(), WRITTEN);
    assert_eq!(Subscription::decode(WRITTEN), Some(subscription()));
    let empty = Subscription::default();
    assert_eq!(Subscription::decode(&empty.encode()), Some(empty));
}

#[test]
fn older_and_newer_subscriptions_are_read() {
    let versioned = |version: u8, bytes: &[u8]| [&[0, version], bytes].concat();
    let read =
        |version: u8, end: usize| Subscription::decode(&versioned(version, &WRITTEN[2..end]));
    let end = WRITTEN.len();
    let older = Subscription { generation: None, ..subscription() };
    assert_eq!(read(2, end - 2), Some(subscription()));
    assert_eq!(read(1, end - 6), Some(older.clone()));
    assert_eq!(read(0, end - 25), Some(Subscription { owned: Partitions::new(), ..older }));
    let newer = [versioned(9, &WRITTEN[2..]), vec![1, 2, 3]].concat();
    assert_eq!(Subscription::decode(&newer), Some(subscription()));
    // User data that is null, as Java writes it.
    let null = b"\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff";
    let read = Subscription::decode(null).unwrap();
    assert_eq!((read.topics.len(), read.user_data.len()), (1, 0));
}

#[test]
fn an_assignment_is_written_in_version_0() {
    let share = partitions(&[("t", &[0, 7])]);
    let written = b"\x00\x00\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\
        \x00\x00\x00\x00\x00\x00\x00\x07";
    let heeds = b"\x00\x00\x00\x19tandem: heeds unreachable";
    let (ours, others) = ([written, &heeds[..]].concat(), [written, &[0; 4][..]].concat());
    assert_eq!(encode_assignment(&share), ours);
    for (bytes, heeds) in [(&ours, true), (&others, false)] {
        assert_eq!(decode_assignment(bytes), Some(share.clone()));
        assert_eq!(heeds_unreachable(bytes), heeds);
    }
    assert!(!heeds_unreachable(b""));
    assert_eq!(decode_assignment(b""), Some(Partitions::new()), "a leader forgot the member");
    assert_eq!(decode_assignment(b"\x00\x00\x00\x00"), None);
}

#[test]
fn the_user_data_of_sticky_is_told_from_other_bytes() {
    let previous = partitions(&[("t", &[3])]);
    let data = StickyData { previous, generation: Some(2), ..StickyData::default() };
    let written = b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00\x02";
    assert_eq!(data.encode(), written);
    assert_eq!(StickyData::decode(written), Some(data.clone()));
    // Clients before 2.1 do not say the generation.
    let older = StickyData { generation: None, ..data };
    assert_eq!(StickyData::decode(&written[..written.len() - 4]), Some(older));
    assert_eq!(StickyData::decode(b"\x00\x00\x00\x05"), None, "a generation alone");
    assert_eq!(StickyData::decode(b""), None);
}

#[test]
fn the_generation_is_found_wherever_a_client_says_it() {
    let said = |user_data: &[u8], generation| {
        let user_data = user_data.to_vec();
        let subscription = Subscription { user_data, generation, ..subscription() };
        let assignor = Assignor::CooperativeSticky;
        assignor.candidate("m".to_owned(), None, subscription).generation
    };
    let sticky = StickyData { generation: Some(7), ..StickyData::default() }.encode();
    assert_eq!(said(&sticky, Some(8)), Some(8), "KIP-792");
    assert_eq!(said(&sticky, None), Some(7), "librdkafka before 2.3");
    assert_eq!(said(b"\x00\x00\x00\x09", None), Some(9), "Java before 3.2");
    assert_eq!(said(b"\xff\xff\xff\xff", None), None);
    assert_eq!(said(b"", None), None);
}

/// What a member does not reach stands in the layout of `sticky`, under every assignor: others
/// read it as partitions of topics that are gone.
#[test]
fn what_a_member_does_not_reach_is_read_by_others_as_topics_that_are_gone() {
    let unreachable = partitions(&[("t", &[1])]);
    let written = b"\x00\x00\x00\x03\x00\x05!turn\x00\x00\x00\x01\x00\x00\x00\x04\
        \x00\x01t\x00\x00\x00\x01\x00\x00\x00\x03\
        \x00\x0dt!unreachable\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x02";
    let previous = partitions(&[("t", &[3])]);
    let data =
        StickyData { previous, generation: Some(2), unreachable: unreachable.clone(), turn: 4 };
    assert_eq!(data.encode(), written);
    assert_eq!(StickyData::decode(written), Some(data.clone()));
    for assignor in ["range", "roundrobin", "sticky", "cooperative-sticky"] {
        let user_data = written.to_vec();
        let subscription = Subscription { user_data, ..subscription() };
        let assignor = Assignor::from_name(assignor).unwrap();
        let candidate = assignor.candidate("m".to_owned(), None, subscription);
        assert_eq!(candidate.unreachable, unreachable, "{assignor}");
        assert!(candidate.owned.keys().all(|topic| !topic.contains('!')), "{assignor}");
    }
}

proptest! {
    #![proptest_config(cases(0x5EED_0013, 256))]

    #[test]
    fn no_bytes_are_too_odd_to_be_read(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Some(read) = Subscription::decode(&bytes) {
            prop_assert_eq!(Subscription::decode(&read.encode()), Some(read));
        }
        if let Some(read) = StickyData::decode(&bytes) {
            prop_assert_eq!(StickyData::decode(&read.encode()), Some(read));
        }
        if let Some(read) = decode_assignment(&bytes) {
            prop_assert_eq!(decode_assignment(&encode_assignment(&read)), Some(read));
        }
    }
}
