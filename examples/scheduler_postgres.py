"""A scheduler as the duty of an exclusive group: each job runs once, in PostgreSQL.

The member starts it while it leads. Its fence, in TANDEM_FENCE, is above that of every earlier
leader, and the store refuses a fence below one that it has seen: a scheduler that was stopped in the
middle of its work, and wakes when another leads, runs nothing. It ticks when a job has run, so an
experiment measures how long no job was run. It needs Python and psql. The store, once, and the group:

    psql "$STORE" -f examples/scheduler.sql
    p1: {cluster: a, mode: exclusive, hold: 500ms, duty: {ticks: true,
         command: [python3, examples/scheduler_postgres.py, "host=db dbname=jobs"]}}
"""

import os
import subprocess
import sys
import time

TICK = 0.05


def main():
    fence, name = int(os.environ["TANDEM_FENCE"]), os.environ["TANDEM_NAME"]
    ticks = int(os.environ["TANDEM_TICK_FD"])
    command = ["psql", "--quiet", "--no-psqlrc", "--tuples-only", "--no-align", sys.argv[1]]
    store = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while True:
        store.stdin.write(f"SELECT coalesce(run_job({fence}, '{name}')::text, 'refused');\n")
        store.stdin.flush()
        answer = store.stdout.readline().strip()
        if not answer.isdigit():
            # It starts again with the next claim, or if the store is back.
            sys.exit(f"no job was run: {answer or 'the store does not answer'}")
        os.write(ticks, b"\n")
        time.sleep(TICK)


main()
