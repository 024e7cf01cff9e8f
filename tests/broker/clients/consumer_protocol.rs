//! rdkafka with `group.protocol=consumer` (KIP-848): members share, hand over, leave and are
//! killed, and no message is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::{Message, Offset, TopicPartitionList};

use super::librdkafka::{WAIT, config, create, holds};
use support::foreign::log::{Line, Log};
use support::foreign::readers::Client;
use support::foreign::{Background, Broker, eventually, groups};
use tandem::groups::consumer::GroupOverrides;
use tandem::time::Mono;

const WIDTH: i32 = 8;
const MESSAGES: usize = 10_000;
/// The address for a member in a process of its own, and its group.
const ADDRESS: &str = "TANDEM_TEST_MEMBER_AT";

type Heard = BTreeSet<(i32, i64)>;

/// Sets the session of a group, and a heartbeat that goes with it.
fn configure(broker: &Broker, group: &str, session: Duration) {
    let heartbeat = Some(Duration::from_millis(100));
    let to = GroupOverrides { session: Some(session), heartbeat };
    groups::configure(&broker.address, group, to);
}

fn member(address: &str, group: &str) -> BaseConsumer {
    subscriber(address, group, "ledger")
}

fn subscriber(address: &str, group: &str, topic: &str) -> BaseConsumer {
    let member: BaseConsumer = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", address)
        .set("group.id", group)
        .set("group.protocol", "consumer")
        .set("fetch.wait.max.ms", "50")
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    member.subscribe(&[topic]).unwrap();
    member
}

/// Polls all once; what they hear is committed.
fn poll(members: &[BaseConsumer], heard: &mut Heard) {
    for member in members {
        let mut some = false;
        for _ in 0..100 {
            let Some(message) = member.poll(Duration::from_millis(2)) else { break };
            // A fetch may fail for a moment while partitions move.
            if let Ok(message) = message {
                some = true;
                heard.insert((message.partition(), message.offset()));
            }
        }
        if some {
            // A member between two epochs is refused, and commits again later.
            drop(member.commit_consumer_state(CommitMode::Sync));
        }
    }
}

/// Polls all until their shares have these sizes and are all partitions, each once.
fn share(members: &[BaseConsumer], sizes: &[usize], heard: &mut Heard) {
    eventually("an even share", || {
        poll(members, heard);
        let held: Vec<_> = members.iter().map(holds).collect();
        let mut found: Vec<_> = held.iter().map(BTreeSet::len).collect();
        found.sort_unstable();
        let all: BTreeSet<_> = held.iter().flatten().copied().collect();
        (found == sizes && all.len() == sizes.iter().sum::<usize>()).then_some(())
    });
}

directly!(
    members_that_subscribe_by_a_pattern_share_its_topics,
    the_partitions_of_a_killed_member_are_taken_over_after_its_session,
);
by_an_edge!(members_hand_over_and_lose_no_message);

fn members_hand_over_and_lose_no_message(broker: &Broker) {
    const GROUP: &str = "sharers";
    create(broker, "ledger", WIDTH);
    // So long that nothing here can come from the end of a session.
    configure(broker, GROUP, Duration::from_secs(50));
    let producer: ThreadedProducer<_> = config(broker).create().unwrap();
    let send = |count: usize| {
        for number in 0..count {
            let partition = i32::try_from(number).unwrap() % WIDTH;
            let record = BaseRecord::<(), _>::to("ledger").partition(partition).payload("x");
            producer.send(record).map_err(|(error, _)| error).unwrap();
        }
    };
    let mut heard = Heard::new();
    let mut members = vec![member(&broker.address, GROUP)];
    send(MESSAGES / 5);
    share(&members, &[8], &mut heard);
    for sizes in [&[4, 4][..], &[2, 3, 3]] {
        members.push(member(&broker.address, GROUP));
        send(MESSAGES / 5);
        share(&members, sizes, &mut heard);
    }
    for sizes in [&[4, 4][..], &[8]] {
        // Dropped, it leaves; the others go on at once.
        drop(members.remove(0));
        send(MESSAGES / 5);
        share(&members, sizes, &mut heard);
    }
    producer.flush(WAIT).unwrap();
    eventually("all messages", || {
        poll(&members, &mut heard);
        (heard.len() == MESSAGES).then_some(())
    });

    let mut ends: BTreeMap<i32, i64> = BTreeMap::new();
    for (partition, offset) in &heard {
        let end = ends.entry(*partition).or_default();
        *end = (*end).max(offset + 1);
    }
    assert_eq!(ends.values().sum::<i64>(), i64::try_from(MESSAGES).unwrap(), "none has a hole");
    eventually("the commits of all that was heard", || {
        poll(&members, &mut heard);
        // Of the last messages, too, where that was refused: no other message brings it about.
        drop(members[0].commit_consumer_state(CommitMode::Sync));
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range("ledger", 0, WIDTH - 1);
        let committed = members[0].committed_offsets(asked, WAIT).ok()?;
        let fits = |one: TopicPartitionListElem<'_>| {
            one.offset() == Offset::Offset(ends[&one.partition()])
        };
        committed.elements().into_iter().all(fits).then_some(())
    });
}

/// A member of librdkafka's and one of Java's send the expression to the broker.
fn members_that_subscribe_by_a_pattern_share_its_topics(broker: &Broker) {
    const GROUP: &str = "matchers";
    create(broker, "ledger", WIDTH);
    create(broker, "a-ledger", 1);
    configure(broker, GROUP, Duration::from_secs(50));
    let mut heard = Heard::new();
    let members = [subscriber(&broker.address, GROUP, "^led.*")];
    share(&members, &[8], &mut heard);
    let log = Log::new();
    let mut java = Client::Java.program();
    java.args(["consume", &broker.address, "^led.*", GROUP, "j", "consumer", "0"]);
    let _java = Background(java.stdout(log.pipe()).spawn().unwrap());
    share(&members, &[4], &mut heard);
    let last = || log.lines().pop();
    let half = |line: &Line| matches!(line, Line::Assigned(_, held) if held.len() == 4);
    eventually("half of it", || {
        poll(&members, &mut heard);
        last().filter(half)
    });

    // A topic that comes later is theirs, too.
    create(broker, "ledgers", 2);
    let held = eventually("half of both topics", || {
        poll(&members, &mut heard);
        let held = members[0].assignment().unwrap();
        (held.count() == 5).then_some(held)
    });
    let topics: BTreeSet<_> = held.elements().iter().map(|it| it.topic().to_owned()).collect();
    assert!(!topics.contains("a-ledger"), "its name does not match as a whole: {topics:?}");
}

/// When, `tests/data/consumer/expiry.txt` proves.
fn the_partitions_of_a_killed_member_are_taken_over_after_its_session(broker: &Broker) {
    const GROUP: &str = "mourners";
    const SESSION: Duration = Duration::from_secs(2);
    create(broker, "ledger", WIDTH);
    configure(broker, GROUP, SESSION);
    let mut heard = Heard::new();
    let members: Vec<_> = (0..2).map(|_| member(&broker.address, GROUP)).collect();
    share(&members, &[4, 4], &mut heard);
    let mut victim = Background(
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "clients::consumer_protocol::a_member_to_be_killed", "--ignored"])
            .env(ADDRESS, format!("{} {GROUP}", broker.address))
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    eventually("a share for the third", || {
        poll(&members, &mut heard);
        let held: usize = members.iter().map(|one| holds(one).len()).sum();
        (held == 5 || held == 6).then_some(())
    });
    victim.0.kill().unwrap();
    victim.0.wait().unwrap();
    share(&members, &[4, 4], &mut heard);
}

/// Not a test: the member that another test starts as a process, and kills.
#[test]
#[ignore = "a part of the_partitions_of_a_killed_member_are_taken_over_after_its_session"]
fn a_member_to_be_killed() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let (address, group) = address.split_once(' ').unwrap();
    let member = member(address, group);
    let began = Mono::now();
    while Mono::now().since(began) < Duration::from_secs(120) {
        drop(member.poll(Duration::from_millis(50)));
    }
}
