"""A contender for kazoo's lock: prints `leads` when it has it, holds it until it is killed, and ends
when its session is lost."""

import os
import sys
import threading

from kazoo.client import KazooClient, KazooState

hosts, session, name = sys.argv[1], float(sys.argv[2]), sys.argv[3]
client = KazooClient(hosts=hosts, timeout=session)


def say(state):
    if state == KazooState.SUSPENDED:
        print("ended", flush=True)
    elif state == KazooState.LOST:
        os._exit(1)


client.add_listener(say)
client.start()
lock = client.Lock("/role", name)
lock.acquire()
print("leads", flush=True)
threading.Event().wait()
