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
        const best = column.ranked && row.status === "ok" && value !== null && value === column.least;
        line.append(element("td", column.write(value), best ? { class: "best" } : {}));
      });
      if (row.status === "differs" || row.status === "failed") {
        line.append(element("td", `${row.status}: ${row.note}`, { class: "bad" }));
      }
      return line;
    }));
  }
  columns.forEach((column, i) => {
    const values = rows.filter((row) => row.status === "ok").map(column.value).filter((v) => v !== null);
    column.least = column.ranked && values.length > 1 ? Math.min(...values) : undefined;
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

function named(label = "structure") {
  return { head: label, value: (row) => row.label, write: (text) => text };
}

function drawTimes() {
  const columns = [named()];
  for (const job of [...RESULT.settings.jobs, "frame"]) {
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
const PLOTS = [];
function plot(target, options, data) {
  const width = () => Math.max(240, target.clientWidth - 4);
  const made = new uPlot({ width: width(), height: 280, ...options }, data, target);
  PLOTS.push(() => made.setSize({ width: width(), height: 280 }));
  return made;
}

function drawLines() {
  const labels = Object.keys(RESULT.series).filter((label) => Object.keys(RESULT.series[label]).length);
  const frames = [...new Set(labels.flatMap((label) => Object.keys(RESULT.series[label]).map(Number)))].sort((a, b) => a - b);
  if (frames.length < 2) {
    byId("lines").replaceWith(element("p", "One frame: there is no line to draw.", { class: "quiet" }));
    return;
  }
  const worst = new Map();
  const series = labels.map((label, i) => {
    const row = RESULT.rows.find((one) => one.label === label);
    if (row && row.frame && row.status === "ok") worst.set(label, row.frame.worst_frame);
    const show = !row || row.status === "ok";
    return { label, show, stroke: hue(i), width: 1.5, spanGaps: true, value: (u, v) => v === null ? "–" : `${v.toPrecision(3)} ms`,
      points: { show: true, size: 9, fill: hue(i), filter: (u, s) => s === i + 1 && worst.has(label) ? [frames.indexOf(worst.get(label))] : [] } };
  });
  const data = [frames, ...labels.map((label) => frames.map((t) => { const v = RESULT.series[label][t]; return v === undefined ? null : v * 1e3; }))];
  plot(byId("lines"), {
    scales: { x: { time: false }, y: { distr: 3 } }, axes: [axis("frame", 44), axis("ms, logarithmic")],
    series: [{ label: "frame" }, ...series],
  }, data);
  byId("worst").textContent = `Dots mark worst frames: ${[...worst].map(([label, t]) => `${label} ${t}`).join(", ")}.`;
}

function drawCurves() {
  if (!DATA.curves.length) return;
  byId("curves").hidden = false;
  for (const curve of DATA.curves) {
    const holder = element("div", null, { class: "plot" });
    byId("curves").append(element("h3", `${curve.structure}: ${curve.parameter}`), holder);
    const points = curve.points.filter((point) => point.value > 0);
    plot(holder, {
      scales: { x: { time: false, distr: 3 }, ms: { distr: 3 }, work: { distr: 3 } },
      axes: [axis(curve.parameter, 44), { ...axis("ms"), scale: "ms" }, { ...axis("candidates, entries"), scale: "work", side: 1, grid: { show: false } }],
      series: [{ label: curve.parameter },
        { label: "ms", scale: "ms", stroke: ink("mark"), width: 2 },
        { label: "candidates", scale: "work", stroke: ink("paired"), dash: [6, 4] },
        { label: "entries", scale: "work", stroke: ink("part"), dash: [2, 3] }],
    }, [points.map((p) => p.value), points.map((p) => p.seconds * 1e3), points.map((p) => Math.max(1, p.candidates)), points.map((p) => Math.max(1, p.entries))]);
    const usual = curve.usual ? ` The usual starting point is ${curve.usual.map((v) => v.toPrecision(3)).join(" to ")}.` : "";
    byId("curves").append(element("p", `Best: ${curve.best.value}, ${milliseconds(curve.best.seconds)} ms; as good within a tenth: ${curve.valley.map((v) => v.toPrecision(3)).join(" to ")}.${usual}`, { class: "quiet" }));
  }
}

function drawFigures() {
  const scene = RESULT.scene, facts = [`${scene.ndim}D`, `${whole(scene.frames)} frames`, `${whole(scene.objects)} objects`];
  for (const [key, words] of [["static", "static"], ["asleep", "asleep in the median frame"], ["sensors", "sensors"]]) {
    if (scene[key]) facts.push(`${whole(scene[key])} ${words}`);
  }
  if (scene.frames > 1) facts.push(`${scene.moved.toFixed(1)} move a frame`);
  byId("facts").textContent = facts.join(", ");
  const { reasons, contrary } = RESULT.verdict;
  for (const [title, words] of [["For it", reasons], ["Against it", contrary]]) {
    if (!words.length) continue;
    const items = element("ul");
    list(items, words);
    byId("reasons").append(element("h3", title), items);
  }
  list(byId("left-out"), RESULT.left_out.map((words) => `Left out: ${words}`));
  byId("machine").textContent = `Measured on ${DATA.machine}.`;
  drawTimes();
  drawWork();
  drawLines();
  drawCurves();
  addEventListener("resize", () => PLOTS.forEach((fit) => fit()));
}
drawFigures();
