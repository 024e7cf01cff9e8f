"""Gaps, overlaps and takeovers from a journal, by deploy/schema/README.md and nothing else.

Reads the names of journals, one a line; prints what it found in each as one line of JSON.
"""

import json
import re
import sys
from bisect import bisect_right

END = 2**64 - 1
TICKLESS, SILENCE, SILENT = 100_000_000, 250_000_000, 1_000_000_000
BY_MEMBER = {"assigned", "revoked", "lost", "claimed", "renewed", "lapsed", "ticks", "hole",
             "late", "leaving", "clock", "unconnected", "connected", "refused"}
UNITS = {"h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
ALPHA, AFTER_FAULT, FELT = 0.05, 15 * 10**9, 15 * 10**9


def union(spans):
    """A set: in order, none empty, none that overlap or meet."""
    out = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if out and begin <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out


def cut(spans, begin, end):
    return union((max(a, begin), min(b, end)) for a, b in spans)


def less(spans, holes):
    out, holes = [], union(holes)
    for begin, end in union(spans):
        for a, b in holes:
            if a < end and begin < b:
                out.append((begin, a))
                begin = max(begin, b)
        out.append((begin, end))
    return union(out)


def wider(spans, by):
    return union((max(0, a - by), min(END, b + by)) for a, b in spans)


def narrower(spans, by):
    return union((a + by if a else a, b if b == END else max(0, b - by)) for a, b in spans)


def length(spans):
    return sum(b - a for a, b in union(spans))


def at(spans, when):
    """The interval of a set that contains an instant."""
    place = bisect_right(spans, (when, END + 1)) - 1
    return spans[place] if place >= 0 and when < spans[place][1] else None


def nanoseconds(text):
    """Of a duration in words, as `1s 500ms`."""
    return sum(int(n) * UNITS[unit] for n, unit in re.findall(r"(\d+)([a-z]+)", text))


def kind_of(fact):
    return next(key for key in fact if key not in ("t_ns", "seq", "life"))


class Life:
    def __init__(self, name):
        member, number = name.rsplit(".", 1)
        self.name, self.order = name, (member.encode(), int(number))
        self.member, self.number = member, int(number)
        self.claims, self.open, self.runs = {}, set(), {}
        self.started = self.death = self.last = self.not_yet = None
        self.reports = "claims"
        self.error, self.strange = 0, None
        self.requests = {"end": [], "stop": []}
        self.stops, self.unknown, self.apart = [], [], []
        self.held = {}

    # What it says of itself.

    def hear(self, fact):
        seq, t, kind = fact["seq"], fact["t_ns"], kind_of(fact)
        if self.last is not None and seq <= self.last[0]:
            return
        if self.last is not None and seq > self.last[0] + 1:
            self.unknown.append((self.last[1], t))
        if self.last is None and seq > 1:
            self.unknown.append((self.started or 0, t))
        self.last = (seq, t)
        said = fact[kind]
        if kind == "claimed":
            key = (said["partition"], said["term"])
            self.claims[key] = (said["from_ns"], said["until_ns"])
            self.open.add(key)
        elif kind in ("renewed", "leaving"):
            named = set()
            for partition, term, until in (said or {"claims": []})["claims"]:
                begin, end = self.claims.get((partition, term), (t, until))
                self.claims[partition, term] = (begin, max(end, until))
                named.add((partition, term))
            for gone in self.open - named:
                begin, end = self.claims[gone]
                self.claims[gone] = (begin, min(end, t))
            self.open = named
        elif kind == "lapsed":
            key = (said["partition"], said["term"])
            if key in self.claims:
                self.claims[key] = (self.claims[key][0], said["at_ns"])
            self.open.discard(key)
        elif kind == "ticks":
            for partition in said["partitions"]:
                runs = self.runs.setdefault(partition, [])
                begin, end = said["from_ns"], said["until_ns"]
                if runs and begin <= runs[-1][1] + TICKLESS:
                    runs[-1] = (min(runs[-1][0], begin), max(runs[-1][1], end))
                else:
                    runs.append((begin, end))
        elif kind in ("unconnected", "connected"):
            if self.apart and self.apart[-1][1] == END:
                self.apart[-1] = (self.apart[-1][0], t)
            if kind == "unconnected":
                self.apart.append((t, END))
        elif kind == "hole":
            self.unknown.append((said["from_ns"], said["until_ns"]))
        if kind in ("revoked", "lost"):
            self.give_back(t, said["partitions"])
        elif kind == "leaving":
            self.give_back(t, list(self.held))
        elif kind == "assigned":
            self.give_back(t, [on for on in self.held if on not in said["partitions"]])
            for on in said["partitions"]:
                holdings = self.held.setdefault(on, [])
                if not holdings or holdings[-1][1] is not None:
                    holdings.append((t, None))

    def give_back(self, t, partitions):
        for on in partitions:
            if self.held.get(on) and self.held[on][-1][1] is None:
                self.held[on][-1] = (self.held[on][-1][0], t)

    # What the controller says of it.

    def stop(self, seen, t):
        requests, self.requests["stop"] = self.requests["stop"], []
        asked = min((when for _, when in requests), default=seen)
        if not self.stops or self.stops[-1][1] is not None:
            self.stops.append([(min(asked, t), t), None])

    def take(self, fact):
        t, kind = fact["t_ns"], kind_of(fact)
        said = fact[kind]
        not_yet, self.not_yet = self.not_yet, None
        if kind == "started":
            self.started = t if self.started is None else min(t, self.started)
            external = said.get("external")
            if external:
                self.error = 0 if external["same_clock"] else external.get("error_ns")
                if self.error is None:
                    self.error, self.reports = 0, "never"
                    self.strange = t if self.strange is None else self.strange
                else:
                    self.reports = "always"
                    if self.strange is not None:
                        self.unknown.append((self.strange, t))
                        self.strange = None
        elif kind == "died":
            asked = min((when for _, when in self.requests["end"]), default=t)
            self.requests["end"] = []
            self.death = self.death or (min(asked, t), t)
        elif kind == "not_yet":
            self.not_yet = t
        elif kind == "stopped":
            self.stop(t if not_yet is None else not_yet, t)
        elif kind == "fault_in_force" and self.requests["stop"]:
            self.stop(t, t)
        elif kind == "continued" and self.stops and self.stops[-1][1] is None:
            self.stops[-1][1] = (min(t if not_yet is None else not_yet, t), t)
        elif kind == "fault_asked" and said["class"] == "kills":
            self.requests["end"].append((said["fault"], t))
        elif kind == "fault_asked" and said["class"] == "pauses":
            self.requests["stop"].append((said["fault"], t))

    def fail(self, fault):
        for what, requests in self.requests.items():
            self.requests[what] = [one for one in requests if one[0] != fault]

    # What follows.

    def stopped(self):
        return union((began[0], ended[1] if ended else END) for began, ended in self.stops)

    def close(self, stalls, unattended):
        asked, confirmed = self.death or (END, END)
        spoke = self.last[1] if self.last else None
        if spoke is None and self.reports == "always":
            spoke = self.started
        due = self.reports == "always" or (self.reports == "claims" and self.open)
        if spoke is not None and due:
            silent = less(less([(spoke, asked)], self.stopped()), stalls)
            if length(silent) > SILENCE:
                self.unknown.append((spoke, confirmed))
        if self.strange is not None:
            self.unknown.append((self.strange, END))
        self.unknown = cut(self.unknown, self.started or 0, confirmed)
        if unattended is not None:
            self.unknown = union(self.unknown + [(unattended, END)])

    def holds(self, partition):
        asked = self.death[0] if self.death else END
        held = [(begin, END if end is None else end) for begin, end in self.held.get(partition, [])]
        return narrower(less(cut(held, 0, asked), self.stopped()), self.error)

    def claims_on(self, partition):
        return [span for (on, _), span in self.claims.items() if on == partition]

    def claimed(self, partition):
        asked, confirmed = self.death or (END, END)
        claims = cut(self.claims_on(partition), 0, confirmed)
        widths = {}
        if self.death and any(end == confirmed for _, end in claims):
            widths[confirmed] = confirmed - asked
        return self.seen(claims, self.unknown) + (widths,)

    def seen(self, spans, unknown):
        """What is sure, and what is possible."""
        return (narrower(less(spans, unknown), self.error),
                wider(union(spans + unknown), self.error))

    def served(self, partition):
        asked = self.death[0] if self.death else END
        served, doubtful, widths = [], [], {}
        for begin, end in less(cut(self.claims_on(partition), 0, asked), self.stopped()):
            runs = [run for run in self.runs.get(partition, []) if run[1] >= begin and run[0] < end]
            last, holes = begin, []
            for a, b in runs + [(end, end)]:
                if a > last + TICKLESS:
                    holes.append((last, a))
                last = max(last, b)
            unsure = [h for h in holes if any(a <= h[1] and h[0] <= b for a, b in self.unknown)]
            doubtful += unsure
            served += less([(begin, end)], [hole for hole in holes if hole not in unsure])
            first = max(begin, min([end] + [run[0] for run in runs]))
            ends = [(ended[1], ended[1] - ended[0] + first - begin)
                    for _, ended in self.stops if ended and ended[1] == begin]
            deaths = [self.death] if self.death else []
            ends += [(one[0], one[1] - one[0])
                     for one in [began for began, _ in self.stops] + deaths if one[0] == end]
            for when, width in ends:
                widths[when] = max(width, widths.get(when, 0))
        unknown = union(self.unknown + doubtful)
        return self.seen(served, unknown) + (widths,)


def share(of, part, whole):
    """`of` times `part` by `whole`, in whole nanoseconds."""
    return of * min(part, whole) // whole if whole else 0


def imposed(late, looks, window):
    """For how much of the time in a window the host is to blame."""
    begin, end = late["from_ns"], late["until_ns"]
    whole = max(0, end - begin)
    waited = min(late.get("waited_ns") or 0, whole)
    blamed = stolen = taken = 0
    first = True
    for look in looks:
        met = min(end, look["until_ns"]) - max(begin, look["from_ns"])
        if met > 0:
            outside = max(0, look["busy_ns"] - look["own_ns"])
            blamed += share(share(waited, met, whole), outside, look["busy_ns"])
        if look["until_ns"] <= begin or look["from_ns"] >= end + 10_000_000:
            continue
        common = min(end, look["until_ns"]) - max(begin, look["from_ns"] - look["stolen_ns"])
        if common > 0:
            taken += min(look["stolen_ns"], common)
            if first or 2 * taken >= min(look["until_ns"], end) - begin:
                stolen = taken
            first = False
    within = min(end, window[1]) - max(begin, window[0])
    return share(blamed + min(stolen, whole - waited), max(0, within), whole)


class Run:
    def __init__(self, header, facts):
        self.plan, self.brief, self.zero = header["plan"], header["brief"], header["zero_ns"]
        self.groups = self.plan["groups"]
        home = {member: name for name, of in self.groups.items() for member in of["members"]}
        outside = [(it["life"], it["started"]["external"]) for it in facts
                   if (it.get("started") or {}).get("external")]
        for name, external in outside:
            if external["group"] in self.groups:
                home.setdefault(name.rsplit(".", 1)[0], external["group"])
        authors = {}
        for fact in facts:
            author = fact["life"] if kind_of(fact) in BY_MEMBER else None
            authors.setdefault(author, []).append(fact)
        own = sorted(authors.pop(None, []), key=lambda fact: fact["seq"])
        self.lives, self.home = {}, home
        self.troubles = {name: [] for name in self.groups}
        self.settled = {name: [] for name in self.groups}
        self.lost = []
        self.read_own(own, self.read_leaves(authors))
        for name, said in authors.items():
            for fact in said:
                life = self.life(name)
                if life:
                    life.hear(fact)
        for one, other in zip(own, own[1:]):
            if other["seq"] > one["seq"] + 1:
                for life in self.lives.values():
                    life.unknown.append((one["t_ns"], other["t_ns"]))
        for kind in ("suspended", "unwritten"):
            for hidden in (it[kind] for it in own if kind in it):
                for life in self.lives.values():
                    life.unknown.append((hidden["from_ns"], hidden["until_ns"]))
        stalls = [(it["stall"]["from_ns"], it["stall"]["until_ns"]) for it in own if "stall" in it]
        away = [it["unattended"]["from_ns"] for it in own if "unattended" in it]
        for life in self.lives.values():
            life.close(stalls, away[-1] if away else None)
        self.trials = self.read_trials(own, facts)
        self.played = self.read_played(own, away[-1] if away else None)
        self.disturbed = self.read_disturbed(own, authors)
        self.stalls = [{"from_ms": self.ms(a), "until_ms": self.ms(b)} for a, b in stalls]
        self.outages = self.read_outages(own, facts)

    def ms(self, t):
        return max(0, t - self.zero) / 1e6

    def life(self, name):
        if name.rsplit(".", 1)[0] not in self.home:
            return None
        return self.lives.setdefault(name, Life(name))

    def read_leaves(self, authors):
        """When lives left their groups, and ticked last; the names of those that did not come
        back."""
        self.leaves, self.ticked, left = [], {}, set()
        for name, said in authors.items():
            first, held, released, served = None, set(), False, set()
            for fact in said:
                kind = kind_of(fact)
                if kind == "ticks":
                    self.ticked[name] = fact[kind]["until_ns"]
                    served = set(fact[kind]["partitions"])
                elif kind in ("lapsed", "revoked", "lost", "hole", "leaving"):
                    self.ticked.pop(name, None)
                elif kind == "renewed" and served - {of for of, _, _ in fact[kind]["claims"]}:
                    self.ticked.pop(name, None)
                if kind == "lapsed":
                    why, end = fact[kind]["why"], fact[kind]["at_ns"]
                    if why == "left" or why == "handed_over" and released:
                        first = end if first is None else min(first, end)
                elif kind == "leaving":
                    t = fact["t_ns"]
                    self.leaves.append((t if first is None else min(first, t), name))
                    first, held, released = None, set(), False
                    left.add(name)
                elif kind in ("assigned", "claimed", "revoked", "lost"):
                    first = None
                    if kind == "assigned":
                        held = set(fact[kind]["partitions"])
                    elif kind != "claimed":
                        held -= set(fact[kind]["partitions"])
                    released = kind == "revoked" and not held
                    if kind in ("assigned", "claimed"):
                        left.discard(name)
        return left

    def read_own(self, own, left):
        struck, ended, paused, seen, deaths = set(), {}, set(), set(), {}
        looked, lost = {}, {}
        for fact in own:
            kind, t, name = kind_of(fact), fact["t_ns"], fact.get("life")
            said = fact[kind]
            life = self.life(name) if name else None
            group = self.home[life.member] if life else None
            if kind == "fault_failed":
                for one in self.lives.values():
                    one.fail(said["fault"])
            if life:
                life.take(fact)
            if kind == "settled":
                self.settled[said["group"]].append(t)
            elif kind == "fault_asked":
                cluster = said.get("cluster")
                for of, planned in self.groups.items():
                    hit = of == group if life else cluster in (None, planned["cluster"])
                    if hit and said["class"] != "nothing" and (of, said["fault"]) not in seen:
                        seen.add((of, said["fault"]))
                        self.troubles[of].append((t, 8, "fault", said["fault"]))
                struck.add(name)
                if said["class"] in ("kills", "leaves", "duplicates"):
                    ended[name] = min(t, ended.get(name, t))
                if said["kind"] == "pause":
                    paused.add(name)
            elif kind == "started" and life and name not in struck:
                again = life.number > 1
                trouble = (t, 2, "restart", name) if again else (t, 1, "start", "")
                self.troubles[group].append(trouble)
            elif kind == "stopped" and life and name not in paused:
                self.troubles[group].append((min(looked.get(name, t), t), 5, "stop", name))
            elif kind == "cluster_died":
                for of, planned in self.groups.items():
                    if planned["cluster"] == said["cluster"]:
                        self.troubles[of].append((t, 7, "broker", said["cluster"]))
            elif kind == "died" and life and name not in left and name not in ended:
                self.troubles[group].append((t, 6, "death", name))
                deaths.setdefault(name, t)
            elif kind in ("broker_lost", "broker_back"):
                which = (said["cluster"], said["broker"])
                if which in lost:
                    self.lost.append((lost.pop(which), t, said["cluster"]))
                if kind == "broker_lost":
                    lost[which] = t
            looked.pop(name, None)
            if kind == "not_yet":
                looked[name] = t
        self.lost += [(t, END, cluster) for (cluster, _), t in lost.items()]
        self.silent = [(self.ticked[name], t, self.life(name).order, name)
                       for name, t in deaths.items()
                       if name in self.ticked and not ended.get(name, END) <= t
                       and TICKLESS < t - self.ticked[name] <= SILENT]
        # The first in each list of troubles: at one instant, a leave counts least.
        by_life = {name: self.life(name) for _, name in self.leaves}
        leaves = [(t, by_life[name].order, name) for t, name in self.leaves
                  if by_life[name] and not ended.get(name, END) <= t]
        for t, _, name in sorted(leaves, reverse=True):
            self.troubles[self.home[name.rsplit(".", 1)[0]]].insert(0, (t, 3, "leave", name))

    def read_trials(self, own, facts):
        trials, open_ = [], None
        for fact in own:
            kind, t = kind_of(fact), fact["t_ns"]
            if kind == "trial_began":
                if open_:
                    trials.append((*open_, t))
                open_ = (fact[kind]["trial"], t)
            elif kind == "trial_ended" and open_ and open_[0] == fact[kind]["trial"]:
                trials.append((*open_, t))
                open_ = None
        if open_:
            sent = {it.get("life") for it in own
                    if it.get("fault_asked", {}).get("class") in ("leaves", "duplicates")
                    or (it.get("started") or {}).get("external")}
            ends = [it["t_ns"] for it in facts if it["t_ns"] >= open_[1]
                    and ("ended" in it or ("leaving" in it and it["life"] not in sent))]
            trials.append((*open_, min(ends or [max(it["t_ns"] for it in facts)])))
        return trials

    def read_played(self, own, unattended):
        """The trials that were played to their end."""
        said = {it["trial_ended"]["trial"] for it in own
                if it.get("trial_ended", {}).get("recovered") is not None}
        return {number for number, _, end in self.trials
                if number in said and (unattended is None or end <= unattended)}

    def read_disturbed(self, own, authors):
        """What held up each disturbed trial; nothing where no rule is stated."""
        if not self.brief.get("disturbed"):
            return None
        looks = [it["processors"] for it in own if "processors" in it]
        late = [((b"", 0), None, it["stall"]) for it in own if "stall" in it]
        for name, said in authors.items():
            member, number = name.rsplit(".", 1)
            late += [((member.encode(), int(number)), name, it["late"])
                     for it in said if "late" in it]
        found, most = {}, nanoseconds(self.brief["disturbed"]["stall"])
        for number, begin, end in self.trials:
            each = [(-imposed(it, looks, (begin, end)), order, whom, it)
                    for order, whom, it in late]
            blame, _, whom, it = min(each, key=lambda one: one[:2], default=(0,) * 4)
            if -blame > most:
                found[number] = {"trial": number, "stalled_ms": -blame / 1e6, "whom": whom,
                                 "late_ms": (it["until_ns"] - it["from_ns"]) / 1e6}
        return found

    def read_outages(self, own, facts):
        asked, healed = {}, {}
        for fact in own:
            for kind in ("fault_asked", "fault_failed"):
                if kind in fact:
                    asked.setdefault(fact[kind]["fault"], fact["t_ns"])
            if "fault_healed" in fact:
                healed[fact["fault_healed"]["fault"]] = fact["t_ns"] + AFTER_FAULT
        excused = [(t, healed.get(fault, END)) for fault, t in asked.items()]
        found, away = [], {}
        for fact in sorted(facts, key=lambda it: it["t_ns"]):
            kind, t = kind_of(fact), fact["t_ns"]
            if kind in ("broker_lost", "broker_back"):
                who = "broker {broker} of cluster {cluster}".format(**fact[kind])
            elif kind in ("unconnected", "connected", "died"):
                who = fact["life"]
            else:
                continue
            if who in away:
                begin, why = away.pop(who)
                found.append((begin, t, who, why))
            if kind in ("broker_lost", "unconnected"):
                away[who] = (t, fact[kind].get("why"))
        found += [(begin, END, who, why) for who, (begin, why) in sorted(away.items())]
        return [{"who": who, "why": why, "from_ms": self.ms(begin),
                 "until_ms": None if end == END else self.ms(end)}
                for begin, end, who, why in sorted(found, key=lambda it: it[:2])
                if not any(a <= begin < b for a, b in excused)]

    def latest(self, group, when):
        """The trouble that is the cause of what begins then in a group."""
        before = [one for one in self.troubles[group] if one[0] <= when]
        # Of those at one instant, the later fact.
        trouble = max(enumerate(before), key=lambda it: (it[1][0], it[0]), default=(0, None))[1]
        if not trouble or trouble[0] < when or trouble[2] == "leave":
            silent = min((one[1:] for one in self.silent
                          if one[0] == when and self.home[one[3].rsplit(".", 1)[0]] == group),
                         default=None)
            if silent:
                return (when, 6, "death", silent[2])
        if trouble and not any(trouble[0] < t <= when for t in self.settled[group]):
            return trouble
        here = self.groups[group]["cluster"]
        lost = [t for t, until, cluster in self.lost
                if cluster == here and self.felt(group, t, until, when)]
        if lost:
            return (max(lost), 7, "broker", here)
        apart = []
        for life in self.lives.values():
            died = life.death[1] if life.death else END
            apart += [(t, life.order, life.name) for t, until in life.apart
                      if self.home[life.member] == group and t < died
                      and self.felt(group, t, min(until, died), when)]
        return (max(apart)[0], 4, "connection", max(apart)[2]) if apart else None

    def felt(self, group, t, until, when):
        """Whether what was away in a group is the cause of what begins then."""
        settled = any(until < one <= when for one in self.settled[group])
        return t <= when < until or until <= when < until + FELT and t <= when and not settled

    def cause(self, group, when):
        names = [group] if group else list(self.groups)
        found = [one for one in (self.latest(name, when) for name in names) if one]
        # Of those at one instant, that of the last group.
        best = max(enumerate(found), key=lambda it: (it[1][1], it[1][0], it[0]), default=None)
        return list(best[1][2:]) if best else ["none", ""]


def count(views, begin, end):
    """The steps of a window, each with how many surely and how many possibly."""
    edges = {begin, end}
    for sure, possible, _ in views:
        edges |= {e for span in sure + possible for e in span if begin < e < end}
    edges = sorted(edges)
    for a, b in zip(edges, edges[1:]):
        yield (a, b), sum(at(v[0], a) is not None for v in views), \
            sum(at(v[1], a) is not None for v in views)


def when(views, window, wanted):
    return union(span for span, least, most in count(views, *window) if wanted(least, most))


def takeovers(views, begin, end):
    inside = [(life, view[0]) for life, view in views if cut(view[0], begin, end)]
    edges = {e for _, sure in inside for span in cut(sure, begin, end) for e in span}
    leader = stopped = None
    for now in sorted(edge for edge in edges if edge < end):
        serving = [(at(sure, now)[0], life.order, life) for life, sure in inside if at(sure, now)]
        if any(life is leader for _, _, life in serving):
            stopped = None
            continue
        stopped = now if stopped is None else stopped
        if serving:
            if leader:
                yield (stopped, now)
            leader, stopped = min(serving, key=lambda one: one[:2])[2], None


def uncertainty(span, views, unknown):
    sides = [max([view[2].get(edge, 0) for view in views], default=0) for edge in span]
    return sum(sides) + sum(b - a for a, b in unknown if b == span[0] or a == span[1])


def role_count(run):
    """How many roles there are, named or counted."""
    roles = run.plan["roles"]
    return len(roles) if isinstance(roles, list) else roles["count"]


def look(run):
    """All that is found, each as [what, group, role, trial, from, until, cause, by, within]."""
    found, memo, least = [], {}, {}
    for name, group in run.groups.items():
        lives = [life for life in run.lives.values() if run.home[life.member] == name]
        lives.sort(key=lambda life: life.order)
        for partition in {role % group["partitions"] for role in range(role_count(run))}:
            held = union(span for life in lives for span in life.holds(partition))
            # One more life, of which nothing else is known.
            others = less([(0, END)], held) if group.get("foreign") == "allow" else []
            memo[name, partition] = ([(life, life.served(partition)) for life in lives],
                                     [(life, life.claimed(partition)) for life in lives],
                                     ([], others, {}))

    def note(what, group, role, trial, spans, views, unknown):
        for span in spans:
            cause = run.cause(group, span[0])
            within = uncertainty(span, views, unknown)
            found.append([what, group, role, trial, *span, *cause, within])

    for number, begin, end in run.trials:
        window = (begin, end)
        for role in range(role_count(run)):
            on = [(name, role % of["partitions"]) for name, of in run.groups.items()]
            joint_over, joint_unsure, every_served, every_claimed = [], [], [], []
            led = []
            for name, partition in on:
                served, claimed, others = memo[name, partition]
                serves, claims = [[v for _, v in of] + [others] for of in (served, claimed)]
                every_served += serves
                every_claimed += claims
                gaps = when(serves, window, lambda least, most: most == 0)
                unsure = when(serves, window, lambda least, most: least == 0 < most)
                over = when(claims, window, lambda least, most: least >= 2)
                maybe = when(claims, window, lambda least, most: least < 2 <= most)
                joint_over += over
                joint_unsure += when(claims, window, lambda least, most: most >= 2)
                led.append(when(serves, window, lambda least, most: least > 0))
                note("gap", name, role, number, gaps, serves, unsure)
                note("overlap", name, role, number, over, claims, maybe)
                note("takeover", name, role, number, takeovers(served, *window), serves, unsure)
                note("unknown gap", name, role, number, unsure, serves, [])
                note("unknown overlap", name, role, number, maybe, claims, [])
            unsure = when(every_served, window, lambda least, most: least == 0 < most)
            over, maybe = union(joint_over), less(joint_unsure, joint_over)
            gaps = when(every_served, window, lambda least, most: most == 0)
            note("gap", None, role, number, gaps, every_served, unsure)
            note("overlap", None, role, number, over, every_claimed, maybe)
            note("unknown gap", None, role, number, unsure, every_served, [])
            note("unknown overlap", None, role, number, maybe, every_claimed, [])
            groups = [(spans, spans, {}) for spans in led]
            counts = [low for _, low, _ in count(groups, *window)] if begin < end else []
            if counts:
                least[number] = min(counts + [least.get(number, len(groups))])
    return found, least


def numbers(run, found, least):
    """What result.json says of them, which leaves out the disturbed trials."""
    ends = {number: end for number, _, end in run.trials}
    left_out = run.disturbed or {}
    found = [f for f in found if f[3] not in left_out]
    least = min((low for number, low in least.items() if number not in left_out), default=None)

    def distribution(what, group, cause=None):
        ns = sorted(f[5] - f[4] for f in found
                    if f[:2] == [what, group] and cause in (None, f[6]))
        rank = lambda p: ns[-(-len(ns) * p // 100) - 1] / 1e6 if ns else None
        return {"count": len(ns), "min_ms": ns[0] / 1e6 if ns else None, "p50_ms": rank(50),
                "p95_ms": rank(95), "p99_ms": rank(99), "max_ms": ns[-1] / 1e6 if ns else None}

    def unknown(groups):
        spans = [f[4:6] for f in found if f[0].startswith("unknown") and f[1] in groups]
        return length(tuple(span) for span in spans) / 1e6

    kinds = ["gap", "overlap", "takeover"]
    groups = {}
    for name in run.groups:
        of = lambda cause: {kind: distribution(kind, name, cause) for kind in kinds}
        other = {cause: of(cause) for cause in ["restart", "broker", "death", "stop", "connection", "leave", "start",
                                               "none"]}
        groups[name] = {**of("fault"), "other": other, "unknown_ms": unknown([name])}
    joint = {kind: distribution(kind, None) for kind in kinds[:2]}
    within = sorted(f[8] for f in found if f[0] == "gap" and f[1])
    middle = within[-(-len(within) * 50 // 100) - 1] / 1e6 if within else None
    rule, disturbed = run.brief.get("disturbed"), None
    if rule:
        disturbed = {
            "stall_ms": nanoseconds(rule["stall"]) / 1e6, "replace": rule["replace"],
            "replaced": max(0, len(run.trials) - run.brief["trials"]),
            "trials": [left_out[number] for number, _, _ in run.trials if number in left_out],
            "undisturbed": len(run.trials) - len(left_out), "alpha": ALPHA,
        }
    return {
        "trials": len(run.played - left_out.keys()),
        "disturbed": disturbed,
        "stalls": run.stalls,
        "outages": run.outages,
        "groups": groups,
        "joint": {**joint, "leaders_min": least, "unknown_ms": unknown([None])},
        "unknown_ms": unknown([None, *run.groups]),
        "censored": sum(f[0] in kinds[:2] and f[1] is not None and f[5] == ends[f[3]]
                        for f in found),
        "uncertainty_ms": {"median": middle, "max": within[-1] / 1e6 if within else None},
    }


def main():
    for name in sys.stdin:
        with open(name.strip(), encoding="utf-8") as file:
            header, *facts = [json.loads(line) for line in file]
        run = Run(header, facts)
        found, least = look(run)
        print(json.dumps({"found": found, "numbers": numbers(run, found, least)}))


main()
