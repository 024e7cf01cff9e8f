"""Tests that start their own Kafka broker, as a process: `tandem broker`.

    pip install confluent-kafka
    TANDEM=target/release/tandem python3 -m unittest examples/broker/test_orders.py
"""

import json
import os
import subprocess
import unittest

from confluent_kafka import Consumer, Producer

PATIENCE_S = 60


class Broker:
    """A broker on a free port. It ends with the process that started it, even if that one is killed,
    for then its standard input closes."""

    def __enter__(self):
        command = [os.environ.get("TANDEM", "tandem"), "broker", "--listen", "127.0.0.1:0"]
        command += ["--until-eof", "--auto-create-topics", "1"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        # The line comes when it is ready.
        self.bootstrap = json.loads(self.process.stdout.readline())["listening"]
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


def bill(bootstrap, count):
    """The service under test: writes so many bills, one for each order, and remembers where it is."""
    orders = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    bills = Producer({"bootstrap.servers": bootstrap})
    orders.subscribe(["orders"])
    while count > 0:
        order = orders.poll(1)
        if order is None or order.error():
            continue
        bills.produce("bills", f"bill for {order.value().decode()}")
        bills.flush()
        orders.commit(order, asynchronous=False)
        count -= 1
    orders.close()


class Orders(unittest.TestCase):
    def test_each_order_is_billed_once_although_the_service_starts_again(self):
        with Broker() as broker:
            producer = Producer({"bootstrap.servers": broker.bootstrap})
            for what in ["apples", "pears", "plums"]:
                producer.produce("orders", what)
            producer.flush()
            bill(broker.bootstrap, 2)
            bill(broker.bootstrap, 1)
            reader = Consumer(
                {
                    "bootstrap.servers": broker.bootstrap,
                    "group.id": "test",
                    "auto.offset.reset": "earliest",
                }
            )
            reader.subscribe(["bills"])
            bills = reader.consume(3, timeout=PATIENCE_S)
            self.assertEqual(
                [it.value().decode() for it in bills],
                ["bill for apples", "bill for pears", "bill for plums"],
            )
            reader.close()


if __name__ == "__main__":
    unittest.main()
