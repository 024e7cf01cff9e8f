"""One member of a consumer group, or a producer, on kafka-python. What it says on standard output is
in tests/support/foreign/log.rs; each line is one write, so that lines of several members do not
mix."""

import os
import signal
import sys

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def produce(bootstrap, topic, width):
    """Reads how many messages are wanted next, a line each."""
    width, sent = int(width), 0
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, acks="all", linger_ms=5, compression_type="gzip"
    )
    for line in sys.stdin:
        futures = []
        for sent in range(sent, sent + int(line)):
            value = f"{sent % width}-{sent // width}".encode()
            futures.append(producer.send(topic, value, partition=sent % width))
        sent += 1
        for future in futures:
            future.get(timeout=60)
        say("produced", sent)


class Holds(ConsumerRebalanceListener):
    def __init__(self, name):
        self.name, self.all, self.unsaved = name, set(), {}

    def say(self):
        say(self.name, "assigned", *sorted(self.all))

    def on_partitions_revoked(self, revoked):
        for it in revoked:
            self.all.discard(it.partition)
            self.unsaved.pop(it.partition, None)
        self.say()

    def on_partitions_assigned(self, assigned):
        self.all |= {it.partition for it in assigned}
        self.say()

    def on_partitions_lost(self, lost):
        self.on_partitions_revoked(lost)


def consume(bootstrap, topic, group, name, _protocol, session_ms):
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        client_id=name,
        partition_assignment_strategy=[RangePartitionAssignor],
        session_timeout_ms=int(session_ms),
        heartbeat_interval_ms=int(session_ms) // 20,
        fetch_max_wait_ms=50,
        max_poll_records=500,
        reconnect_backoff_ms=20,
        retry_backoff_ms=50,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    holds = Holds(name)
    unsaved = holds.unsaved
    consumer.subscribe([topic], listener=holds)
    # kafka-python 3.0.12 forgets a join that it began because it learnt of partitions, if a poll
    # ends before SyncGroup is answered: it must know them before it joins.
    while going and not consumer.partitions_for_topic(topic):
        pass
    while going:
        heard = []
        for at, records in consumer.poll(timeout_ms=100).items():
            first = records[0].offset
            for offset, record in enumerate(records, first):
                wanted = f"{at.partition}-{offset}".encode()
                fits = record.offset == offset and (not record.value or record.value == wanted)
                assert fits, f"{record} instead of {wanted}"
            heard.append(f"{at.partition}:{first}-{offset}")
            unsaved[at.partition] = offset + 1
        if heard:
            say(name, "heard", *heard)
        if unsaved:
            try:
                consumer.commit()
                say(name, "committed", *(f"{p}:{end}" for p, end in unsaved.items()))
                unsaved.clear()
            except KafkaError as error:
                print(f"not committed: {error!r}", file=sys.stderr)
    consumer.close()


what, *rest = sys.argv[1:]
{"produce": produce, "consume": consume}[what](*rest)
