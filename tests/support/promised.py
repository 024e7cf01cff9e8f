"""A job that holds its promise to the last millisecond, and then asks for the next one.

It asks `tandem hold --serve` whether it leads, and reports to a referee when it begins and when it
has ended, and how long its promise lasts by the clock of this machine. It begins when the referee has written that down, and its end is written down after it:
what the referee knows is never shorter than the work. OVERSTAY is how many seconds it works on after
its promise, for a referee that must find that.

    python3 promised.py SIDECAR-PORT ROLE REFEREE-PORT NAME OVERSTAY
"""

import http.client
import json
import socket
import sys
import time

LAST = 0.001
LOOK = 0.005


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Sidecar:
    """The answers for one role."""

    def __init__(self, port, role):
        self.path = f"/v1/roles/{role}"
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=1)

    def promise(self):
        """The instant at which the promise ends, and its fence; None without one."""
        # The clock first: the answer counts from before the question.
        asked = now()
        try:
            self.link.request("GET", self.path)
            answer = self.link.getresponse()
            body = json.loads(answer.read())
        except (OSError, ValueError, http.client.HTTPException):
            self.link.close()
            return None
        if answer.status != 200 or not body["promised"]:
            return None
        return asked + body["remaining_ms"] / 1000, body["fence"]


def main(port, role, referee, name, overstay):
    sidecar = Sidecar(int(port), role)
    link = socket.create_connection(("127.0.0.1", int(referee)))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    answers = link.makefile("r")
    while True:
        promise = sidecar.promise()
        if promise is None:
            time.sleep(LOOK)
            continue
        until, fence = promise
        link.sendall(f"begin {name} {fence} {until * 1e9:.0f}\n".encode())
        if not answers.readline():
            return
        if now() >= until + float(overstay) - LAST:
            # It is over before any work.
            link.sendall(b"none\n")
            continue
        while (left := until + float(overstay) - LAST - now()) > 0:
            time.sleep(left)
        link.sendall(f"end {(until - now()) * 1e6:.0f}\n".encode())


main(*sys.argv[1:])
