"""A command that reports to a referee each few milliseconds, so that its end is seen from outside.

It connects to the socket of the referee, says whose it is and by which fence it works, and then
what time it is, again and again. How it ends:

- obeys: at SIGTERM.
- ignores: never by itself.
- detaches: at SIGTERM; a process that it left, in a session of its own and with an empty
  environment, never.

    python3 reporting.py SOCKET NAME KIND
"""

import os
import signal
import socket
import sys
import time

EACH = 0.004


def report(place, name, kind, fence):
    link = socket.socket(socket.AF_UNIX)
    began = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    link.connect(place)
    link.sendall(f"{name} {fence} {kind} {os.getpid()}\n{began}\n".encode())
    while True:
        time.sleep(EACH)
        link.sendall(f"{time.clock_gettime_ns(time.CLOCK_BOOTTIME)}\n".encode())


def detach(place, name, fence):
    """Leaves a process behind: two forks, a session, another program, an empty environment."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    arguments = [sys.executable, __file__, place, name, "detached", fence]
    os.execve(sys.executable, arguments, {})


def main(place, name, kind, fence=None):
    fence = fence or os.environ["TANDEM_FENCE"]
    if kind in ("ignores", "detached"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if kind == "detaches":
        detach(place, name, fence)
    report(place, name, kind, fence)


main(*sys.argv[1:])
