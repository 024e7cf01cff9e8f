// Draws the lanes of all roles from the page's data, so that readers can zoom and move in time. All
// content is present in the page without it.
(() => {
  const { data, shown, grounds, off, isOff, ms, brief, findings, lanes, matches, title, words, note,
    calls } = tandem;
  if (!data.trials.length) return;
  const by = (id) => document.getElementById(id);
  const STEP = 18, LANE = 14, AXIS = 38, LOOKS = 6, LEAST = 2, SECOND = 1e9;
  const make = (tag, to, text) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (to) to.append(element);
    return element;
  };

  // ---- the visible time -----------------------------------------------------------------------
  const [begin, end] = data.window;
  let view = [begin, end], waiting = false;
  const visible = new Set();
  const look = (from, until) => {
    const width = Math.min(Math.max(until - from, 1e6), (end - begin) * 1.02 || 1e6);
    from = Math.min(Math.max(from, begin - width * 0.1), end + width * 0.1 - width);
    view = [from, from + width];
    redraw();
  };
  const zoom = (times, at = (view[0] + view[1]) / 2) =>
    look(at - (at - view[0]) / times, at + (view[1] - at) / times);
  const move = (part) => {
    const by = (view[1] - view[0]) * part;
    look(view[0] + by, view[1] + by);
  };
  const whole = () => look(begin, end);
  const toTrial = ([, from, until]) => {
    const room = (until - from) * 0.02;
    look(from - room, until + room);
  };
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawAxis();
      visible.forEach(draw);
    });
  };

  // ---- drawing ---------------------------------------------------------------------------------
  let colours = {};
  const tile = (paint) => {
    const canvas = make("canvas");
    canvas.width = canvas.height = 8;
    paint(canvas.getContext("2d"));
    return canvas;
  };
  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const plain = "paper ink soft bed led gap on-gap hatch unknown dots band stall off edge on-member";
    const names = [...plain.split(" "), ...Array.from({ length: LOOKS }, (_, at) => "m" + at)];
    colours = Object.fromEntries(names.map((it) => [it, style.getPropertyValue("--" + it).trim()]));
    colours.hatched = tile((g) => {
      g.strokeStyle = colours.hatch;
      g.lineWidth = 1.6;
      g.beginPath();
      for (const at of [-8, 0, 8]) { g.moveTo(at - 1, 9); g.lineTo(at + 9, -1); }
      g.stroke();
    });
    colours.dotted = tile((g) => {
      g.fillStyle = colours.unknown;
      g.fillRect(0, 0, 8, 8);
      g.fillStyle = colours.dots;
      for (const [x, y] of [[1, 1], [5, 5]]) g.fillRect(x, y, 2, 2);
    });
  };
  const paper = (canvas, height) => {
    const width = canvas.clientWidth, ratio = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = "11px system-ui, sans-serif";
    const scale = width / (view[1] - view[0]);
    return { g, width, x: (at) => (at - view[0]) * scale };
  };
  // Spans of one style; a span within a pixel of the one before is drawn with it.
  const spans = ({ g, width, x }, all, y, height, least) => {
    let last = -1e9, from = 0;
    const put = () => { if (last > -1e9) g.fillRect(from, y, last - from, height); };
    for (const it of all) {
      const a = x(it.from), b = Math.max(x(it.until), a + least);
      if (b < 0 || a > width) continue;
      if (a >= from && a <= last) { last = Math.max(last, b); continue; }
      put();
      from = Math.max(a, -4);
      last = Math.min(b, width + 4);
    }
    put();
  };
  // Draws a name on a plain background, so that hatching does not cross it. Returns where it ends.
  const written = ({ g, width }, text, a, b, y, ground, colour) => {
    a = Math.max(a, 0);
    b = Math.min(b, width);
    const long = g.measureText(text).width + 8;
    if (b - a < long) return a;
    g.fillStyle = ground;
    g.fillRect(a, y, long, LANE);
    g.fillStyle = colour;
    g.fillText(text, a + 4, y + LANE - 3);
    return a + long;
  };
  const drawLane = (on, one, y) => {
    const { g, x, width } = on;
    g.fillStyle = one.joint ? colours.led : colours.bed;
    spans(on, shown.map(([, from, until]) => ({ from, until })), y, LANE, 0);
    const last = [], names = [];
    for (const [from, until, life] of one.served) {
      const a = x(from), b = x(until), member = one.lives[life][1] % LOOKS;
      if (b < 0 || a > width || (b - a < 0.4 && b - (last[member] || -9) < 0.4)) continue;
      last[member] = b;
      g.fillStyle = colours["m" + member];
      g.fillRect(Math.max(a, -1), y, Math.min(b, width + 1) - Math.max(a, -1), LANE);
      if (b - a > 40) names.push([one.lives[life][0], a, b, colours["m" + member]]);
    }
    g.fillStyle = g.createPattern(colours.hatched, "repeat");
    spans(on, one.overlaps, y, LANE, LEAST);
    g.fillStyle = g.createPattern(colours.dotted, "repeat");
    spans(on, one.unknown, y, LANE, LEAST);
    // A gap is taller than its lane and set off from it, so that colour is not its only mark.
    const pixel = (view[1] - view[0]) / width;
    g.fillStyle = colours.paper;
    const wider = ({ from, until }) => ({ from: from - pixel, until: until + pixel });
    spans(on, one.gaps.map(wider), y - 2, LANE + 4, LEAST + 2);
    g.fillStyle = colours.gap;
    spans(on, one.gaps, y - 2, LANE + 4, LEAST);
    let free = 0;
    for (const [name, a, b, ground] of names) {
      // Names are drawn beside findings, never on them.
      let at = Math.max(a, free, 0);
      for (const it of [...one.overlaps, ...one.unknown]) {
        if (x(it.from) < at + 7 * name.length + 8 && x(it.until) > at) at = x(it.until);
      }
      free = written(on, name, at, b, y, ground, colours["on-member"]);
    }
    for (const it of one.gaps) {
      const text = "gap " + brief(it.length);
      written(on, text, x(it.from), x(it.until), y, colours.gap, colours["on-gap"]);
    }
  };
  // The background of a fault or a stall is drawn behind the lanes, its edges over them, to keep
  // the lanes' colours.
  const bands = (on, height, edges) => {
    const { g, x, width } = on;
    g.globalAlpha = edges ? 1 : 0.25;
    let free = -1e9;
    for (const { from, until, look } of [...off, ...grounds]) {
      const a = x(from), b = Math.max(x(until), a + 1), stall = look === "stall";
      // There may be thousands of stalls, so one hidden by the one before is not drawn.
      if (b < 0 || a > width || (stall && b < free + 0.5)) continue;
      if (stall) free = b;
      g.strokeStyle = g.fillStyle = colours[look];
      g.setLineDash({ stall: [1, 2], band: [3, 3], off: [] }[look]);
      if (edges) g.strokeRect(a + 0.5, -1, b - a, height + 2);
      else g.fillRect(a, 0, b - a, height);
    }
    g.setLineDash([]);
    g.globalAlpha = 1;
  };
  const draw = (row) => {
    const on = paper(row.canvas, row.lanes.length * STEP);
    bands(on, row.lanes.length * STEP, false);
    row.lanes.forEach((one, at) => drawLane(on, one, at * STEP + 2));
    bands(on, row.lanes.length * STEP, true);
    if (row.at !== undefined) {
      const [at, it] = row.list[row.at];
      const a = on.x(it.from), b = Math.max(on.x(it.until), a + LEAST);
      on.g.strokeStyle = colours.ink;
      on.g.lineWidth = 2;
      on.g.strokeRect(a - 2, at * STEP + 1, b - a + 4, LANE + 2);
      on.g.lineWidth = 1;
    }
  };
  const drawAxis = () => {
    const on = paper(axis, AXIS), { g, x, width } = on;
    let step = 1e6, times = 0;
    while ((view[1] - view[0]) / step > width / 80) step *= [2, 2.5, 2][times++ % 3];
    g.fillStyle = colours.soft;
    g.strokeStyle = colours.edge;
    for (let at = Math.ceil(view[0] / step) * step; at <= view[1]; at += step) {
      g.beginPath();
      g.moveTo(x(at), AXIS - 5);
      g.lineTo(x(at), AXIS);
      g.stroke();
      if (x(at) + 40 < width) g.fillText(+(at / SECOND).toFixed(3) + " s", x(at) + 3, AXIS - 2);
    }
    let free = -1e9;
    const label = (text, at, until, y, colour) => {
      const a = Math.max(x(at), 0), b = Math.min(x(until), width);
      if (b < 0 || a > width) return;
      g.globalAlpha = 0.5;
      g.fillStyle = colour;
      g.fillRect(a, y + 2, Math.max(b - a - 1, 1), 1.5);
      g.globalAlpha = 1;
      const long = g.measureText(text).width;
      // Labels of faults that begin in this view take precedence over earlier ones.
      if (a < free || a + long > width || (x(at) < 0 && b - a < long)) return;
      g.fillStyle = colour;
      g.fillText(text, a + 2, y);
      free = a + long + 10;
    };
    for (const [number, from, until] of shown.length > 1 || off.length ? shown : []) {
      const [more, colour] = isOff(number) ? [", disturbed", colours.off] : ["", colours.soft];
      label("trial " + number + more, from, until, 10, colour);
    }
    free = -1e9;
    for (const it of grounds) label(it.name, it.from, it.until, 22, colours[it.look]);
  };

  // ---- numbers on demand -----------------------------------------------------------------------
  const tip = by("tip");
  const hide = () => { tip.textContent = ""; };
  const say = (text, left, top) => {
    if (tip.textContent !== text) tip.textContent = text;
    tip.style.left = Math.max(4, Math.min(left + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    const below = top + 18 + tip.offsetHeight < innerHeight;
    tip.style.top = (below ? top + 18 : Math.max(4, top - tip.offsetHeight - 8)) + "px";
  };
  const under = (row, event) => {
    const box = row.canvas.getBoundingClientRect();
    const scale = (view[1] - view[0]) / box.width;
    const at = view[0] + (event.clientX - box.left) * scale;
    const one = row.lanes[Math.floor((event.clientY - box.top) / STEP)];
    if (!one) return "";
    const near = (it) => it.from - 3 * scale <= at && at <= it.until + 3 * scale;
    const found = one.gaps.find(near) || one.unknown.find(near) || one.overlaps.find(near);
    const served = one.served.filter(([from, until]) => from <= at && at < until);
    const faults = data.faults.filter((it) => it.asked <= at && at < (it.healed ?? end));
    const stall = data.stalls.find(([from, until]) => from <= at && at < until);
    return [
      found ? note(one, found) : `${one.name}${one.where}, at ${ms(at)}`,
      served.length ? "served by " + served.map((it) => one.lives[it[2]][0]).join(", ") : "",
      ...faults.map((it) => `${it.kind} ${it.id} of ${it.targets.join(", ") || "no member"}`),
      stall ? `the host stalled for ${ms(stall[1] - stall[0])}` : "",
    ].filter(Boolean).join(". ") + ".";
  };
  const step = (row, by) => {
    row.list ??= row.lanes.flatMap((one, at) =>
      [...one.gaps, ...one.unknown, ...(one.joint ? [] : one.overlaps)].map((it) => [at, it]))
      .sort((a, b) => a[1].from - b[1].from);
    if (!row.list.length) return;
    const all = row.list.length;
    row.at = row.at === undefined ? (by > 0 ? 0 : all - 1) : (row.at + by + all) % all;
    const [at, it] = row.list[row.at], room = Math.max(it.length, SECOND / 4);
    look(it.from - room, it.until + room);
    const box = row.canvas.getBoundingClientRect();
    const text = `${row.at + 1} of ${all}. ${note(row.lanes[at], it)}.`;
    say(text, box.left + box.width / 3, box.bottom - 8);
  };

  // ---- the page --------------------------------------------------------------------------------
  const axis = make("canvas");
  axis.className = "axis";
  axis.setAttribute("aria-hidden", "true");
  const rows = new Map();
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const row = rows.get(entry.target);
      if (!row) continue;
      if (entry.isIntersecting) {
        row.lanes ??= lanes(row.fold);
        visible.add(row);
        draw(row);
      } else if (visible.delete(row)) {
        row.canvas.width = 0; // frees its memory for other rows
      }
    }
    performance.mark("lanes drawn");
  }, { rootMargin: "300px" });
  const drag = (row, canvas) => {
    let held;
    canvas.addEventListener("pointerdown", (event) => {
      held = [event.clientX, view];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held && event.buttons) {
        const [at, [from, until]] = held;
        const by = ((at - event.clientX) / canvas.clientWidth) * (until - from);
        look(from + by, until + by);
      }
      say(under(row, event), event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerup", () => { held = undefined; });
    canvas.addEventListener("pointerleave", hide);
    canvas.addEventListener("wheel", (event) => {
      const box = canvas.getBoundingClientRect();
      const at = view[0] + ((event.clientX - box.left) / box.width) * (view[1] - view[0]);
      if (event.ctrlKey) zoom(Math.exp(-event.deltaY / 300), at);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / box.width);
      else return;
      event.preventDefault();
    }, { passive: false });
  };
  const keys = (row) => (event) => {
    const acts = {
      ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), "+": () => zoom(1.6),
      "=": () => zoom(1.6), "-": () => zoom(1 / 1.6), 0: whole, n: () => step(row, 1),
      p: () => step(row, -1), Escape: hide,
    };
    const act = !event.ctrlKey && !event.metaKey && !event.altKey && acts[event.key];
    if (!act) return;
    event.preventDefault();
    row.lanes ??= lanes(row.fold);
    act();
  };
  const build = (fold, to) => {
    const element = make("div", to), row = { fold };
    element.className = "row";
    element.tabIndex = 0;
    element.setAttribute("role", "application");
    element.setAttribute("aria-roledescription", "lane");
    make("h3", element, title(fold));
    const body = make("div", element), names = make("div", body);
    body.className = "body";
    names.className = "names";
    for (const group of data.groups) make("span", names, group.name);
    make("span", names, "joint");
    row.canvas = make("canvas", body);
    row.canvas.style.height = (data.groups.length + 1) * STEP + "px";
    rows.set(element, row);
    element.addEventListener("focus", () => {
      row.lanes ??= lanes(fold);
      element.setAttribute("aria-label", `${title(fold)}. ${row.lanes.map(words).join(". ")}.`);
    });
    element.setAttribute("aria-label", title(fold));
    element.addEventListener("blur", () => { row.at = undefined; hide(); });
    element.addEventListener("keydown", keys(row));
    drag(row, row.canvas);
    watch.observe(element);
  };
  const fill = () => {
    watch.disconnect();
    visible.clear();
    rows.clear();
    const place = by("rows"), wanted = by("role").value.trim().toLowerCase();
    place.replaceChildren(axis);
    const named = data.folds.filter((fold) => !wanted || calls(fold, wanted));
    const fits = matches[by("which").value];
    const first = named.filter(fits), rest = named.filter((fold) => !fits(fold));
    first.forEach((fold) => build(fold, place));
    if (rest.length) {
      const details = make("details", place);
      make("summary", details, `${rest.length} lane${rest.length > 1 ? "s" : ""} without that`);
      details.addEventListener("toggle", () => {
        const first = details.open && details.children.length === 1;
        if (first) rest.forEach((fold) => build(fold, details));
      });
    }
    redraw();
  };

  const trial = by("trial"); // A topology that is kept up has no trials.
  if (trial) make("option", trial, "whole run").value = "";
  if (trial) shown.forEach(([number], at) => { make("option", trial, number).value = at; });
  trial?.addEventListener("change", () => (trial.value ? toTrial(shown[trial.value]) : whole()));
  const next = (by) => {
    const now = trial.value === "" ? (by > 0 ? -1 : shown.length) : +trial.value;
    trial.value = Math.min(Math.max(now + by, 0), shown.length - 1);
    toTrial(shown[trial.value]);
  };
  const press = {
    ...(trial && { before: () => next(-1), after: () => next(1) }), earlier: () => move(-0.25),
    later: () => move(0.25), in: () => zoom(1.6), out: () => zoom(1 / 1.6),
  };
  for (const [id, act] of Object.entries(press)) by(id).addEventListener("click", act);
  by("which").addEventListener("change", fill);
  by("role").addEventListener("input", fill);
  addEventListener("resize", redraw);
  addEventListener("scroll", hide, { passive: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    theme();
    redraw();
  });
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });

  // Many trials at once are unreadable, so begin with the one that has the longest gap.
  const longest = (all) => all.sort((a, b) => b.length - a.length)[0];
  const gaps = (all) => all.flatMap((it) => findings("gap", it.g));
  const worst = longest(gaps(data.folds)) ||
    longest(data.groups.flatMap((group) => gaps(Object.values(group.lanes))));
  document.documentElement.classList.add("live");
  by("stage").hidden = false;
  theme();
  const many = trial && shown.length > 12 && worst;
  const start = many ? shown.findIndex(([number]) => number === worst.trial) : -1;
  if (start >= 0) {
    trial.value = start;
    toTrial(shown[start]);
  }
  fill();
})();
