#!/usr/bin/env python3
"""Runs a program of tests: watched.py PROGRAM [ARGUMENT...]

libtest says when a test has run for 60 s. If such a test has not ended two minutes later, this
prints the stacks of the program and of all processes that it has started. It ends the program once
the test has run for ten minutes: a busy host is slow, and no test waits for so long.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

# How long a test may go on after libtest has named it, in seconds: until the stacks are shown, and
# until the program is ended.
SHOWN, ENDED_AFTER = 120, 540
LATE = re.compile(rb"test (\S+) has been running for over 60 seconds")
ENDED = re.compile(rb"^test (\S+) (?:- should panic )?\.\.\. ")
# With one thread the name stands in a line before, perhaps far before.
ENDED_ALONE = re.compile(rb"^(ok|FAILED|ignored)\b")


def family(pid):
    """A process and all that it has started, the eldest first."""
    pids = [pid]
    for one in pids:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                pids += [int(child) for child in task.read_bytes().split()]
            except OSError:
                pass
    return pids


def show(pid):
    """The stacks of all threads of a process."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return
    print(f"---- process {pid}: {command.decode(errors='replace')}", flush=True)
    trace = ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "set debuginfod enabled off",
             "-ex", "thread apply all backtrace 40"]
    try:
        subprocess.run(trace, stdin=subprocess.DEVNULL, stdout=sys.stdout.fileno(),
                       stderr=subprocess.DEVNULL, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"no stacks: {error}", flush=True)


class Watch:
    """What runs late, by name, with the instant at which libtest named it."""

    def __init__(self, child):
        self.child, self.late, self.lock = child, {}, threading.Lock()
        self.shown = set()

    def read(self, line):
        with self.lock:
            if found := LATE.search(line):
                self.late[found[1]] = time.monotonic()
            elif found := ENDED.match(line):
                self.late.pop(found[1], None)
            elif ENDED_ALONE.match(line):
                self.late.clear()

    def overdue(self, by):
        """What has been late for so long."""
        with self.lock:
            now = time.monotonic()
            return {name for name, since in self.late.items() if since + by < now}

    def run(self):
        while self.child.poll() is None:
            if hanging := self.overdue(SHOWN) - self.shown:
                self.shown |= hanging
                names = b", ".join(sorted(hanging)).decode(errors="replace")
                print(f"\nHANGS: {names}: not ended {60 + SHOWN} s after its start", flush=True)
                for pid in family(self.child.pid):
                    show(pid)
            if self.overdue(ENDED_AFTER):
                pids = family(self.child.pid)
                self.child.send_signal(signal.SIGABRT)
                # They would outlive it.
                for pid in pids[1:]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                return
            time.sleep(1)


def main():
    child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
    watch = Watch(child)
    threading.Thread(target=watch.run, daemon=True).start()
    for line in child.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        watch.read(line)
    code = child.wait()
    sys.exit(code if code >= 0 else 128 - code)


main()
