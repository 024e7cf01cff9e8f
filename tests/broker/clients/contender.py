"""A contender that elects as the Go library does in its fast mode: the assignee of partition 0
leads, publishes there, and is fenced when it hears nothing for so long. Says on standard output
when it leads, and when it does so no more, in nanoseconds of CLOCK_BOOTTIME."""

import sys
import time

from confluent_kafka import Consumer, Producer

BOOTSTRAP, TOPIC, GROUP, SESSION_MS, FENCE_MS = sys.argv[1:6]
PULSE_NS = 100_000_000
FENCE_NS = int(FENCE_MS) * 1_000_000
COMMON = {"bootstrap.servers": BOOTSTRAP, "client.id": "contender"}


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Contender:
    def __init__(self):
        self.held, self.leads, self.heard, self.pulsed = False, False, 0, 0
        self.producer = Producer(COMMON | {"linger.ms": 0})
        self.consumer = Consumer(
            COMMON
            | {
                "group.id": GROUP,
                "session.timeout.ms": int(SESSION_MS),
                "heartbeat.interval.ms": 100,
                "partition.assignment.strategy": "roundrobin",
                "auto.offset.reset": "latest",
                "enable.auto.commit": False,
            }
        )
        self.consumer.subscribe(
            [TOPIC], on_assign=self.assigned, on_revoke=self.gone, on_lost=self.gone
        )

    def say(self, what):
        print(what, now(), flush=True)

    def assigned(self, _consumer, partitions):
        self.held = any(it.partition == 0 for it in partitions)
        self.heard = now()
        if self.held:
            self.acquire()
        else:
            self.say("stands-by")

    def gone(self, _consumer, _partitions):
        self.held = False
        self.end("revoked")

    def acquire(self):
        self.leads = True
        self.say("acquired")

    def end(self, why):
        if self.leads:
            self.leads = False
            self.say(why)

    def turn(self):
        message = self.consumer.poll(0.02)
        if message is not None and message.error() is None and message.partition() == 0:
            self.heard = now()
            if self.held and not self.leads:
                self.acquire()
        if now() - self.heard >= FENCE_NS:
            self.end("fenced")
        if self.held and now() - self.pulsed >= PULSE_NS:
            self.pulsed = now()
            self.producer.produce(TOPIC, partition=0)
        self.producer.poll(0)


contender = Contender()
while True:
    contender.turn()
