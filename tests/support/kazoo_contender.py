"""A lock of kazoo on a folder of nodes: it says `waits` when it is in line, `leads` when it holds the
lock, and gives it back at a line on its standard input."""

import sys
import threading
import time

from kazoo.client import KazooClient

hosts, path = sys.argv[1:]
client = KazooClient(hosts=hosts, timeout=4.0)
client.start()
lock = client.Lock(path, "kazoo")
taken = threading.Thread(target=lock.acquire)
taken.start()
while "kazoo" not in lock.contenders():
    time.sleep(0.01)
print("waits", flush=True)
taken.join()
print("leads", flush=True)
sys.stdin.readline()
lock.release()
client.stop()
