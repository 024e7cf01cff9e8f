"""Judges a finished run by what holds on any host, however slow: sound.py RUN CODE

RUN is the folder of the run, CODE the exit code of the command that made it. It must be 0, or 3 or
4 where result.json names nothing but limits on time, and what the host did to the run. What a
stalling host explains is no fault of the program: longer gaps and overlaps, intervals that no fault
caused, and trials that do not count. What it never explains: two leaders in a group that promises
one, a trial that did not recover, a fault that was not injected or not healed, a run that did not
end by itself, or numbers in result.json that the journal does not yield. The journal is read by
oracle.py, which knows its documentation alone.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ORACLE = Path(__file__).parent.parent / "system" / "documented" / "oracle.py"
VERDICTS = {0: "pass", 3: "fail", 4: "unknown"}
# What is unknown for the host's sake, by the sentences of result.json.
HOSTS = re.compile(
    r"trials were disturbed by the host|disturbed trials failed|The host was suspended for"
    r"|could not be observed|trials were played to their end|no trial that counts was played"
    r"|was never seen outside fault and recovery windows|intervals may be up to .* shorter"
    r"|failed: its victims were hit "
)


def limits_time(ruling, exclusive):
    """Whether a ruling that is not pass may be explained by a host that stalls."""
    text, group = ruling["text"], ruling.get("group")
    if ruling["outcome"] == "unknown":
        return True
    if text.startswith(("trials recovered", "one leader at most")):
        return False
    named = re.match(r"group\.([^.]+)\.overlap\.|group\.overlap\.", text)
    return not (named and (named[1] or group) in exclusive)


def complaints(run, code):
    """What does not hold, a sentence each."""
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    verdict = result["verdict"]
    if VERDICTS.get(code) != verdict:
        yield f"the exit code is {code}, the verdict {verdict}"
    if result["outcome"] != "completed":
        yield f"the run ended as {result['outcome']}"
    exclusive = {name for name, group in result["groups"].items() if group["exclusive"]}
    excused = set()
    for ruling in result["objective"] + result["assertions"]:
        if ruling["outcome"] == "pass":
            continue
        if limits_time(ruling, exclusive):
            excused.add(ruling["why"])
        else:
            yield f"{ruling['text']}: {ruling['why']}"
    for reason in result["reasons"]:
        if reason not in excused and not HOSTS.search(reason):
            yield f"no stall explains: {reason}"
    for fault in result["faults"]:
        failed = fault.get("failed")
        if failed and "its victims were hit " not in failed:
            yield f"fault {fault['id']} ({fault['kind']}) failed: {failed}"
        if not failed and (fault["in_force_ms"] is None or fault["healed_ms"] is None):
            yield f"fault {fault['id']} ({fault['kind']}) was not seen in force, or not healed"
    yield from differences("result.json", recomputed(run), result)


def recomputed(run):
    """The numbers that the journal yields."""
    journal = f"{run / 'journal.jsonl'}\n"
    done = subprocess.run([sys.executable, ORACLE], input=journal, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{ORACLE.name}: {done.stderr}")
    return json.loads(done.stdout)["numbers"]


def differences(path, theirs, ours):
    """Where the report lacks what the oracle computes."""
    if isinstance(theirs, dict):
        for key, value in theirs.items():
            known = ours.get(key) if isinstance(ours, dict) else None
            yield from differences(f"{path}.{key}", value, known)
    elif isinstance(theirs, list):
        known = ours if isinstance(ours, list) else []
        if len(theirs) != len(known):
            yield f"{path}: the oracle has {len(theirs)}, the report {len(known)}"
        for at, (value, known) in enumerate(zip(theirs, known)):
            yield from differences(f"{path}[{at}]", value, known)
    elif theirs != ours:
        yield f"{path}: the oracle computes {theirs}, the report says {ours}"


def main():
    run, code = Path(sys.argv[1]), int(sys.argv[2])
    found = list(complaints(run, code))
    for one in found:
        print(one)
    sys.exit(1 if found else 0)


main()
