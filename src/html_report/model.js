// Reads the page's data. Times are nanoseconds since the run's zero.
"use strict";
const tandem = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const shown = data.trials.filter((trial) => trial[3]);
  const ms = (ns) => (ns / 1e6).toFixed(3) + " ms";
  const brief = (ns) => (ns >= 1e8 ? Math.round(ns / 1e6) : +(ns / 1e6).toFixed(1)) + " ms";

  // Bands through all lanes: faults, and stalls of the host.
  const grounds = [
    ...data.faults.map(({ asked, healed, kind, id }) =>
      ({ from: asked, until: healed ?? data.window[1], look: "band", name: `${kind} ${id}` })),
    ...data.stalls.map(([from, until]) => ({ from, until, look: "stall", name: "stall" })),
  ].sort((a, b) => a.from - b.from);

  // The trials that the host disturbed.
  const off = shown.filter((trial) => trial[4]).map(([number, from, until]) =>
    ({ from, until, look: "off", number }));
  const isOff = (number) => off.some((it) => it.number === number);

  const findings = (kind, numbers) => {
    const all = [];
    for (let at = 0; at < numbers.length; at += 6) {
      const [from, length, within, trial, cause, open] = numbers.slice(at, at + 6);
      all.push({ kind, from, until: from + length, length, within, trial, cause, open });
    }
    return all;
  };
  const decoded = new Map();
  const lane = (group, on) => {
    const key = group + ":" + on;
    if (!decoded.has(key)) {
      const raw = data.groups[group].lanes[on];
      const served = [];
      for (let at = 0, last = 0; at < raw.s.length; at += 3) {
        const from = last + raw.s[at];
        last = from + raw.s[at + 1];
        served.push([from * 1e3, last * 1e3, raw.s[at + 2]]);
      }
      decoded.set(key, {
        name: data.groups[group].name, lives: data.groups[group].lives, served,
        gaps: findings("gap", raw.g), overlaps: findings("overlap", raw.o),
        unknown: findings("unknown", raw.u), where: `, partition ${on}`,
      });
    }
    return decoded.get(key);
  };
  const lanes = (fold) => {
    const groups = fold.on.map((on, group) => lane(group, on));
    const joint = {
      name: "joint", joint: true, lives: [], served: [], where: "",
      gaps: findings("gap", fold.g), unknown: findings("unknown", fold.u),
      overlaps: groups.flatMap((one) => one.overlaps),
    };
    return [...groups, joint];
  };
  const count = (fold, kind) =>
    fold.on.reduce((sum, on, group) => sum + data.groups[group].lanes[on][kind].length / 6, 0);
  const matches = {
    found: (fold) =>
      count(fold, "g") + count(fold, "o") + count(fold, "u") + fold.g.length + fold.u.length,
    gaps: (fold) => count(fold, "g") + fold.g.length,
    joint: (fold) => fold.g.length,
  };
  const named = (role) => data.roles.prefix === undefined ? data.roles[role] : data.roles.prefix + role;
  const calls = (fold, wanted) => {
    const [first, step, count] = fold.roles;
    for (let nth = 0; nth < count; nth += 1) {
      if (named(first + nth * step).toLowerCase().includes(wanted)) return true;
    }
    return false;
  };
  const title = (fold) => {
    const [first, , count] = fold.roles;
    return named(first) + (count > 1 ? ` and ${count - 1} more` : "");
  };
  const words = (one) => {
    const said = [["gap", one.gaps], ["unknown time", one.unknown], ["overlap", one.overlaps]]
      .filter(([, all]) => all.length)
      .map(([kind, all]) =>
        `${all.length} ${kind}${all.length > 1 ? "s" : ""}, the longest ` +
        brief(all.reduce((most, it) => Math.max(most, it.length), 0)));
    return `${one.name}: ${said.join("; ") || "nothing found"}`;
  };
  const note = (one, it) => {
    const cause = data.causes[it.cause];
    const what = it.kind === "unknown" ? "unknown for" : it.kind + " of";
    const trial = (shown.length > 1 ? `, trial ${it.trial}` : "") +
      (isOff(it.trial) ? ", which the host disturbed" : "");
    return `${one.name}${one.where}${trial}: ${what} ${ms(it.length)}, ` +
      `known to within ${ms(it.within)}, from ${ms(it.from)} to ${ms(it.until)}` +
      (cause ? `, after ${cause}` : ", without a cause") +
      (it.open ? ", still open when the trial ended" : "");
  };

  return {
    data, shown, grounds, off, isOff, ms, brief, findings, lanes, matches, title, words, note, calls,
  };
})();
