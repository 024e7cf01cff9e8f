"""confluent-kafka does on a broker what a client does; the first thing that fails ends it."""

import sys
import time

from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PATIENCE_S = 120
BOOTSTRAP = {"bootstrap.servers": sys.argv[1], "client.id": "python"}


def eventually(what, look):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if look():
            return
    raise SystemExit(f"{what}: not within {PATIENCE_S} s")


def consumer():
    made = Consumer(
        BOOTSTRAP
        | {
            "group.id": "snakes",
            "session.timeout.ms": 60000,
            "heartbeat.interval.ms": 100,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    made.subscribe(["ledger"])
    return made


admin = AdminClient(BOOTSTRAP)
for made in admin.create_topics([NewTopic("ledger", 4, 1)]).values():
    made.result()


def width():
    """Of several brokers, not all know of it at once."""
    ledger = admin.list_topics(timeout=120).topics.get("ledger")
    return len(ledger.partitions) if ledger else 0


eventually("the topic", lambda: width() == 4)

delivered = []
producer = Producer(BOOTSTRAP | {"enable.idempotence": True})
for number in range(40):
    producer.produce(
        "ledger",
        key=str(number),
        value=f"message {number}",
        partition=number % 4,
        on_delivery=lambda error, message: delivered.append((error, message.offset())),
    )
assert producer.flush(120) == 0
assert len(delivered) == 40 and all(error is None for error, _ in delivered), delivered

members = [consumer(), consumer()]
heard = set()


def poll():
    for member in members:
        message = member.poll(0.02)
        if message is not None:
            assert message.error() is None, message.error()
            heard.add(message.value().decode())


def shares(*wanted):
    poll()
    return sorted(len(member.assignment()) for member in members) == sorted(wanted)


def ends():
    """Whether the members have read all that they hold: what one of them heard before the last
    rebalance, the next owner hears again, for it was not committed."""
    poll()
    held = [member.position(member.assignment()) for member in members]
    return [at.offset for all_of_one in held for at in all_of_one] == [10] * 4


eventually("an even share", lambda: shares(2, 2))
eventually("the ends of all partitions", ends)
assert len(heard) == 40, heard
for member in members:
    member.commit(asynchronous=False)

described = admin.describe_consumer_groups(["snakes"])["snakes"].result()
assert described.state == ConsumerGroupState.STABLE, described.state
assert sorted(len(m.assignment.topic_partitions) for m in described.members) == [2, 2]
listed = admin.list_consumer_groups().result()
assert "snakes" in [group.group_id for group in listed.valid] and not listed.errors

members.pop().close()
eventually("everything", lambda: shares(4))
positions = members[0].committed([TopicPartition("ledger", p) for p in range(4)], timeout=120)
assert [position.offset for position in positions] == [10] * 4, positions
members.pop().close()

assert admin.delete_consumer_groups(["snakes"])["snakes"].result() is None
for gone in admin.delete_topics(["ledger"]).values():
    gone.result()
print("everything worked")
