"""One member of a consumer group on librdkafka, as confluent-kafka brings it. What it says on
standard output is in tests/support/foreign/log.rs; each line is one write, so that lines of several
members do not mix."""

import os
import signal
import sys

from confluent_kafka import Consumer, KafkaException

_, _consume, BOOTSTRAP, TOPIC, GROUP, NAME, PROTOCOL, SESSION_MS = sys.argv
held, unsaved, going = set(), {}, [True]


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def assigned(_consumer, partitions):
    held.update(it.partition for it in partitions)
    say(NAME, "assigned", *sorted(held))


def gone(_consumer, partitions):
    held.difference_update(it.partition for it in partitions)
    for it in partitions:
        unsaved.pop(it.partition, None)
    say(NAME, "assigned", *sorted(held))


CLASSIC = {
    "session.timeout.ms": int(SESSION_MS),
    "heartbeat.interval.ms": int(SESSION_MS) // 20,
    "partition.assignment.strategy": "range",
}
consumer = Consumer(
    {
        "bootstrap.servers": BOOTSTRAP,
        "client.id": NAME,
        "group.id": GROUP,
        "fetch.wait.max.ms": 50,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    | ({"group.protocol": "consumer"} if PROTOCOL == "consumer" else CLASSIC)
)
signal.signal(signal.SIGTERM, lambda *_: going.clear())
consumer.subscribe([TOPIC], on_assign=assigned, on_revoke=gone, on_lost=gone)
while going:
    heard = {}
    for message in consumer.consume(500, timeout=0.05):
        if message.error() is None:
            heard.setdefault(message.partition(), []).append(message.offset())
    for partition, offsets in heard.items():
        first, last = offsets[0], offsets[-1]
        assert offsets == list(range(first, last + 1)), offsets
        unsaved[partition] = last + 1
    if heard:
        say(NAME, "heard", *(f"{p}:{offsets[0]}-{offsets[-1]}" for p, offsets in heard.items()))
    if unsaved:
        try:
            consumer.commit(asynchronous=False)
            say(NAME, "committed", *(f"{p}:{end}" for p, end in unsaved.items()))
            unsaved.clear()
        except KafkaException as error:
            print(f"not committed: {error!r}", file=sys.stderr)
consumer.close()
