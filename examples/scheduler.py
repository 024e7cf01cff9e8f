"""A scheduler that asks `tandem hold --serve` whether it leads, and runs each job once.

It needs nothing but Python. The store is SQLite: a job is due each TICK seconds, and a run is a row.
The row says which fence its scheduler had, and the store refuses a fence below one that it has seen:
a scheduler that was stopped in the middle of its work, and wakes when another leads, writes nothing.
If it was stopped in the middle of a write, it keeps SQLite's lock, and no other writes before it wakes;
scheduler_postgres.py has a store whose clients hold no lock.

    tandem hold -f topologies/held.yaml --group p1 --name a --serve 127.0.0.1:7070 &
    python3 examples/scheduler.py http://127.0.0.1:7070 nightly jobs.db
"""

import json
import sqlite3
import sys
import time
import urllib.error
import urllib.request

TICK = 0.1
TABLES = """
CREATE TABLE IF NOT EXISTS fence (one INTEGER PRIMARY KEY CHECK (one = 1), highest INTEGER);
INSERT OR IGNORE INTO fence VALUES (1, 0);
CREATE TABLE IF NOT EXISTS runs (job INTEGER, fence INTEGER, name TEXT);
"""


def claim(sidecar, role):
    """The instant at which the promise ends, and its fence; None without one."""
    # The clock first: the answer counts from before the question.
    asked = time.clock_gettime(time.CLOCK_BOOTTIME)
    try:
        with urllib.request.urlopen(f"{sidecar}/v1/roles/{role}", timeout=1) as answer:
            body = json.load(answer)
    except (OSError, ValueError):
        # 409, or no answer: it does not lead.
        return None
    return asked + body["remaining_ms"] / 1000, body["fence"]


def raise_fence(store, fence):
    """Raises the number of the store before anything is read from it; False if it is higher."""
    with store:
        raised = store.execute("UPDATE fence SET highest = ? WHERE highest <= ?", (fence, fence))
        return raised.rowcount == 1


def work(job):
    """What the job does; here it takes its time."""
    time.sleep(TICK / 2)


def run_next(store, fence, name):
    """Runs the job that follows the last one, and writes that down unless another leads."""
    (last,) = store.execute("SELECT coalesce(max(job), 0) FROM runs").fetchone()
    work(last + 1)
    with store:
        store.execute("BEGIN IMMEDIATE")
        (highest,) = store.execute("SELECT highest FROM fence").fetchone()
        if highest == fence:
            store.execute("INSERT INTO runs VALUES (?, ?, ?)", (last + 1, fence, name))


def turn(store, sidecar, role, name):
    """Runs the next job if this scheduler leads."""
    held = claim(sidecar, role)
    if held is not None:
        until, fence = held
        if raise_fence(store, fence) and time.clock_gettime(time.CLOCK_BOOTTIME) < until:
            run_next(store, fence, name)


def unless_locked(step, *arguments):
    """Takes a step; False if another kept the store locked, so that nothing was written."""
    try:
        step(*arguments)
        return True
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False


def main(sidecar, role, path, name):
    store = sqlite3.connect(path, timeout=1, isolation_level=None)
    while not unless_locked(store.executescript, TABLES):
        time.sleep(TICK)
    while True:
        # Where it was locked, the next turn asks anew whether it leads.
        unless_locked(turn, store, sidecar, role, name)
        time.sleep(TICK)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:4], sys.argv[4] if len(sys.argv) == 5 else "scheduler")
