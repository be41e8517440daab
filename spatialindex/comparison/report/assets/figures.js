"use strict";
// Tables, bars and plots: what was measured. Texts go in as text, never as markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
const RESULT = DATA.comparison;
const HUES = [211, 24, 140, 280, 350, 48, 180, 320, 90, 250, 0];

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
function byId(id) { return document.getElementById(id); }
function ink(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }
function isDark() { return matchMedia("(prefers-color-scheme: dark)").matches; }
function hue(i) { return `hsl(${HUES[i % HUES.length]} 65% ${isDark() ? 68 : 42}%)`; }
function whole(value) { return value === null ? "–" : Math.round(value).toLocaleString("en"); }
function milliseconds(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const value = seconds * 1e3;
  return value >= 100 ? whole(value) : value.toFixed(value >= 10 ? 1 : value >= 1 ? 2 : 3);
}
// Who can be the best: right, and timed in about as many frames as others.
const MOST_TIMED = Math.max(0, ...RESULT.rows.map((row) => row.status === "ok" && row.frame ? row.frame.samples : 0));
function isFair(row) { return row.status === "ok" && (row.frame ? row.frame.samples : 0) >= 0.75 * MOST_TIMED; }
function list(target, texts) { for (const text of texts) target.append(element("li", text)); }

// A table whose headings sort; columns are {head, value(row), write, ranked}.
function sortable(target, rows, columns) {
  const table = element("table"), head = element("tr"), body = element("tbody");
  let sorted = null, down = false;
  function draw() {
    const shown = rows.slice();
    if (sorted !== null) {
      const value = columns[sorted].value;
      shown.sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === null || y === null) return (x === null) - (y === null);
        return (typeof x === "string" ? x.localeCompare(y) : x - y) * (down ? -1 : 1);
      });
    }
    body.replaceChildren(...shown.map((row) => {
      const line = element("tr", null, row.status === "ok" ? {} : { class: "out" });
      columns.forEach((column) => {
        const value = column.value(row);
        const best = column.ranked && isFair(row) && value !== null && column.write(value) === column.least;
        line.append(element("td", column.write(value), best ? { class: "best" } : {}));
      });
      return line;
    }));
  }
  columns.forEach((column, i) => {
    const values = rows.filter(isFair).map(column.value).filter((v) => v !== null);
    column.least = column.ranked && values.length > 1 ? column.write(Math.min(...values)) : undefined;
    const cell = element("th", null, { scope: "col" }), button = element("button", column.head, { type: "button" });
    button.addEventListener("click", () => {
      down = sorted === i && !down;
      sorted = i;
      for (const other of head.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      draw();
    });
    cell.append(button);
    head.append(cell);
  });
  const top = element("thead");
  top.append(head);
  table.append(top, body);
  target.append(table);
  draw();
}

function named() {
  return { head: "structure", value: (row) => ["ok", "floor"].includes(row.status) ? row.label : `${row.label} (${row.status})`, write: (text) => text };
}

function drawTimes() {
  const columns = [named()];
  for (const job of ["frame", ...RESULT.settings.jobs]) {
    if (!RESULT.rows.some((row) => row[job])) continue;
    for (const which of ["median", "worst"]) {
      columns.push({ head: `${job} ${which}`, value: (row) => row[job] ? row[job][which] : null, write: milliseconds, ranked: true });
    }
  }
  columns.push({ head: "compile s", value: (row) => row.compile, write: (v) => v === null ? "–" : v.toFixed(2) });
  sortable(byId("times"), RESULT.rows, columns);
}

function drawWork() {
  const rows = RESULT.rows.filter((row) => row.work);
  const names = { pairs: "pairs", candidates: "candidates", visits: "visits", entries: "entries", buckets: "buckets", max_bucket: "largest bucket", wide: "wide", nbytes: "bytes", rebuilds: "rebuilds" };
  const ranked = ["candidates", "visits", "entries", "max_bucket", "nbytes"];
  const columns = Object.entries(names).map(([key, head]) => ({ head, value: (row) => row.work[key], write: whole, ranked: ranked.includes(key) }));
  sortable(byId("work"), rows, [named(), ...columns]);
  const found = rows.filter((row) => row.work.candidates !== null);
  bars(byId("candidates"), found, (row) => row.work.candidates / Math.max(1, row.work.pairs),
    (v, row) => row.work.pairs === 0 ? `${whole(row.work.candidates)} for no pair` : `${v < 100 ? v.toFixed(2) : whole(v)} (${whole(row.work.candidates)} for ${whole(row.work.pairs)})`, true);
  bars(byId("memory"), rows, (row) => row.work.nbytes, (v) => `${whole(v / 1024)} KiB`, false);
}

// One bar a row, shortest first; on a log scale where values span magnitudes.
function bars(target, rows, value, write, isLog) {
  if (!rows.length) target.append(element("p", "Not counted.", { class: "quiet" }));
  const scale = (v) => isLog ? Math.log10(Math.max(1, v)) + 0.05 : v;
  const most = Math.max(...rows.map((row) => scale(value(row))), 1e-9);
  for (const row of rows.slice().sort((a, b) => value(a) - value(b))) {
    const line = element("div", null, { class: "bar" }), bar = element("div");
    bar.style.width = `${Math.max(0, scale(value(row)) / most) * 100}%`;
    line.append(element("span", row.label), bar, element("span", write(value(row), row)));
    target.append(line);
  }
  if (isLog && rows.length) target.append(element("p", "Bars are on a logarithmic scale.", { class: "quiet" }));
}

function axis(label, side = 64) {
  return { label, stroke: ink("quiet"), grid: { stroke: ink("line") }, ticks: { stroke: ink("line") }, size: side };
}
// A plot that fits its place, and is made again in the colours of the other scheme.
const PLOTS = [];
function plot(target, build) {
  const size = () => ({ width: Math.max(240, target.clientWidth - 4), height: 280 });
  const make = () => { const [options, data] = build(); return new uPlot({ ...size(), ...options }, data, target); };
  let made = make();
  PLOTS.push({ fit: () => made.setSize(size()), repaint: () => { made.destroy(); made = make(); } });
}

function drawLines() {
  const labels = Object.keys(RESULT.series).filter((label) => Object.keys(RESULT.series[label]).length);
  const frames = [...new Set(labels.flatMap((label) => Object.keys(RESULT.series[label]).map(Number)))].sort((a, b) => a - b);
  const isStill = RESULT.scene.frames === 1, what = isStill ? "fresh index" : "frame";
  if (isStill) byId("h-lines").textContent = "Build by build";
  if (frames.length < 2) {
    byId("lines").replaceWith(element("p", `One ${what}: there is no line to draw.`, { class: "quiet" }));
    return;
  }
  const worst = new Map(RESULT.rows.filter((row) => row.frame && row.status === "ok").map((row) => [row.label, row.frame.worst_frame]));
  const series = () => labels.map((label, i) => {
    const row = RESULT.rows.find((one) => one.label === label);
    const show = !row || row.status === "ok";
    return { label, show, stroke: hue(i), width: 1.5, spanGaps: true, value: (u, v) => v === null ? "–" : `${v.toPrecision(3)} ms`,
      points: { show: true, size: 9, fill: hue(i), filter: (u, s) => s === i + 1 && worst.has(label) ? [frames.indexOf(worst.get(label))] : [] } };
  });
  const data = [frames, ...labels.map((label) => frames.map((t) => { const v = RESULT.series[label][t]; return v === undefined ? null : v * 1e3; }))];
  plot(byId("lines"), () => [{
    scales: { x: { time: false }, y: { distr: 3 } }, axes: [{ ...axis(what, 44), incrs: WHOLE }, axis("ms, logarithmic")],
    series: [{ label: what }, ...series()],
  }, data]);
  byId("worst").append(isStill ? "Dots mark the slowest." : "Dots mark worst frames; see the scene in them:");
  if (isStill) return;
  for (const [label, t] of worst) {
    const button = element("button", `${label} ${t}`, { type: "button" });
    button.addEventListener("click", () => globalThis.player && player.jump(t));
    byId("worst").append(" ", button);
  }
}
const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({ length: 8 }, (_, power) => digit * 10 ** power)).sort((a, b) => a - b);

// The U of a parameter: time and work against its values, with the valley and where people begin.
function drawCurves() {
  byId("curves").hidden = !RESULT.curves.length;
  for (const curve of RESULT.curves) {
    const holder = element("div", null, { class: "plot" }), marks = element("ul", null, { class: "legend" });
    byId("curves").append(element("h3", `${curve.structure}: ${curve.parameter}`), element("p", `${curve.words.slice(0, 1).toUpperCase()}${curve.words.slice(1)}.`), holder, marks);
    if (curve.best.value > 0) plot(holder, () => curvePlot(curve));
    const [low, high] = curve.valley.map(short);
    const entries = [["★", "good", `best: ${short(curve.best.value)}`], ["▮", "good", low === high ? "no other value is within a tenth of it" : `valley, within a tenth of the best: ${low} to ${high}`]];
    if (curve.usual) entries.push(["▮", "quiet", `usual starting point, 1.5 to 2 times the mean extent: ${curve.usual.map(short).join(" to ")}`]);
    if (curve.own) entries.push(["◆", "ink", `left to itself: ${short(curve.own.value)}`]);
    for (const [sign, color, words] of entries) {
      const item = element("li");
      item.append(element("i", sign, { style: `color:var(--${color})` }), words);
      marks.append(item);
    }
    const notes = element("ul", null, { class: "quiet" });
    list(notes, curve.notes);
    byId("curves").append(notes);
  }
}
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });
// Ticks of a logarithmic axis at 1, 2 and 5 times powers of ten, at all digits where those are few.
function evenly(least, most) {
  const within = (digits) => {
    const found = [];
    for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power++) {
      for (const digit of digits) found.push(Number(`${digit}e${power}`));
    }
    return found.filter((tick) => tick >= least && tick <= most);
  };
  for (const digits of [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]]) {
    const ticks = within(digits);
    if (ticks.length > 2) return ticks;
  }
  return [least, most];
}
function short(value) { return String(Number(value.toPrecision(4))); }
function curvePlot(curve) {
  const points = curve.points.filter((point) => point.value > 0), least = 1e-9;
  const reach = (values, by) => [Math.min(...values) / by, Math.max(...values) * by];
  const x = points.map((p) => p.value), ms = points.map((p) => Math.max(least, p.seconds * 1e3));
  const counts = ["candidates", "entries"].map((name) => points.map((p) => p[name] ? p[name] : null));
  const own = curve.own && curve.own.value > 0 ? curve.own : null;
  const seen = [...x, ...(curve.usual || []), ...(own ? [own.value] : [])], work = counts.flat().filter((count) => count !== null);
  const line = (label, scale, color, rest) => ({ label, scale, stroke: ink(color), points: { show: true, size: 7, fill: ink(color) }, value: (u, v) => v === null ? "–" : scale === "ms" ? `${v.toPrecision(3)} ms` : whole(v), ...rest });
  const log = (label, scale, side) => ({ ...axis(label), scale, side, splits: (u, i, least, most) => evenly(least, most), filter: (u, splits) => splits, values: (u, splits) => splits.map(scale === "work" ? COMPACT.format : short) });
  const options = {
    scales: { x: { time: false, distr: 3, range: reach(seen, 1.25) }, ms: { distr: 3, range: reach(own ? [...ms, own.seconds * 1e3] : ms, 1.35) }, work: { distr: 3, range: work.length ? reach(work, 1.35) : [1, 10] } },
    axes: [{ ...log(curve.parameter, "x", 2), size: 44 }, log("ms a frame", "ms", 3), { ...log("candidates, entries", "work", 1), grid: { show: false } }],
    series: [{ label: curve.parameter, value: (u, v) => v === null ? "–" : short(v) }, line("ms a frame", "ms", "mark", { width: 2 }), line("candidates", "work", "paired", { dash: [6, 4] }), line("entries", "work", "part", { dash: [2, 3] })],
    hooks: { drawAxes: [(u) => bands(u, curve)], draw: [(u) => marksOf(u, curve, own)] },
  };
  return [options, [x, ms, ...counts]];
}
function bands(u, curve) {
  const { ctx, bbox } = u, at = (value) => u.valToPos(value, "x", true);
  const band = ([low, high], color, alpha, width) => {
    const left = at(low), wide = Math.max(width, at(high) - left);
    ctx.globalAlpha = alpha;
    ctx.fillStyle = ink(color);
    ctx.fillRect(left - (wide === width ? width / 2 : 0), bbox.top, wide, bbox.height);
  };
  ctx.save();
  if (curve.usual) band(curve.usual, "quiet", 0.25, 4);
  band(curve.valley, "good", 0.2, 4);
  ctx.restore();
}
function marksOf(u, curve, own) {
  const { ctx, bbox } = u, size = 15 * (devicePixelRatio || 1);
  ctx.save();
  ctx.textBaseline = "middle";
  const sign = (text, point, color, size, down) => {
    const x = u.valToPos(point.value, "x", true), y = u.valToPos(Math.max(1e-9, point.seconds * 1e3), "ms", true);
    const share = (x - bbox.left) / bbox.width; // words stay within the plot
    ctx.textAlign = !down || (share > 0.3 && share < 0.7) ? "center" : share < 0.5 ? "left" : "right";
    ctx.font = `${size}px system-ui, sans-serif`;
    ctx.fillStyle = ink(color);
    ctx.fillText(text, x, y + down);
  };
  if (own) sign("◆", own, "ink", size, 0);
  sign("★", curve.best, "good", 1.6 * size, 0);
  sign(`${short(curve.best.value)}: ${milliseconds(curve.best.seconds)} ms`, curve.best, "good", size, 1.5 * size);
  ctx.restore();
}

function drawFigures() {
  list(byId("left-out"), RESULT.left_out.map((words) => `Left out: ${words}`));
  byId("machine").textContent = `Measured on ${DATA.machine}.`;
  drawTimes();
  drawWork();
  drawLines();
  drawCurves();
  addEventListener("resize", () => PLOTS.forEach(({ fit }) => fit()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => PLOTS.forEach(({ repaint }) => repaint()));
}
drawFigures();
