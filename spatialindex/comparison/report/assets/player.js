"use strict";
// The scene player: unpacks frames, keeps the time, and hands what is to be drawn to Flat or Solid.
async function unpack(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Kind(await new Response(stream).arrayBuffer());
}
// Boxes in steps: `width` numbers a row, each the difference from the row before; extents for uppers.
async function unpackBoxes(text, width, ndim) {
  const bytes = await unpack(text, Uint8Array), n = bytes.length / 4, boxes = new Float32Array(n), at = new Int32Array(width);
  for (let i = 0, k = 0; i < n; i++, k = k + 1 === width ? 0 : k + 1) {
    const folded = bytes[i] | bytes[n + i] << 8 | bytes[2 * n + i] << 16 | bytes[3 * n + i] << 24;
    at[k] += folded >>> 1 ^ -(folded & 1);
    boxes[i] = k % (2 * ndim) < ndim ? at[k] : at[k - ndim] + at[k];
  }
  return boxes;
}

const KINDS = ["part", "static", "asleep", "moving", "sensor", "paired"];
const PAIRED = KINDS.indexOf("paired");

class Player {
  static async start(scene) {
    const width = 2 * scene.ndim * scene.objects;
    const [boxes, states, roles] = await Promise.all([unpackBoxes(scene.boxes, width, scene.ndim), unpack(scene.states, Uint8Array), unpack(scene.roles, Uint8Array)]);
    return new Player(scene, boxes, states, roles);
  }
  constructor(scene, boxes, states, roles) {
    Object.assign(this, { scene, boxes, states, roles, at: 0, timer: null, isScrubbing: false, parts: new Map(), turn: 0, kinds: new Uint8Array(scene.objects), counts: new Uint32Array(KINDS.length) });
    // a ground that everything stands on would hide what stands on it, were it marked
    this.marked = roles.every((role) => role & 1) ? 0 : 1;
    this.view = this.viewOf(byId("canvas"));
    byId("scrub").max = scene.frames.length - 1;
    byId("play").disabled = byId("scrub").disabled = scene.frames.length < 2;
    byId("structure").append(element("option", "none", { value: "" }), ...scene.structures.map((one, i) => element("option", one.label, { value: i })));
    const best = scene.structures.findIndex((one) => one.label === RESULT.verdict.fastest);
    byId("structure").value = best < 0 ? "" : best;
    this.isSolid = "turn" in this.view;
    byId("up").hidden = !this.isSolid;
    byId("keys").textContent = `Once the scene has been clicked, or reached with Tab, Space plays and pauses, ← → step, Home and End jump, + and − zoom, ${this.isSolid ? "a d w s turn; drag to turn, with the right button or two fingers to move" : "a d w s or dragging moves"}. Then the wheel zooms, too.`;
    list(byId("notes"), scene.notes);
    this.legend = KINDS.map((name) => {
      const item = element("li"), dot = element("span"), words = element("b");
      item.append(dot, words);
      byId("legend").append(item);
      return { item, dot, words };
    });
    this.paint();
    this.listen();
    this.show(0);
  }
  viewOf(canvas) {
    const { ndim, focus } = this.scene;
    if (ndim === 2) return new Flat(canvas, focus);
    const probe = document.createElement("canvas").getContext("webgl2"); // one canvas has one kind of context
    if (probe) {
      probe.getExtension("WEBGL_lose_context")?.loseContext();
      return new Solid(canvas, focus);
    }
    byId("no-webgl").hidden = false;
    return new Flat(canvas, focus, 3);
  }
  // Shows the scene in a frame of the recording, or in the nearest one that is drawn.
  jump(frame) {
    const { frames } = this.scene, away = frames.map((t) => Math.abs(t - frame));
    this.stop();
    this.show(away.indexOf(Math.min(...away)));
    byId("player").scrollIntoView({ behavior: "smooth", block: "start" });
    byId("stage").focus({ preventScroll: true });
  }
  get isPlaying() { return this.timer !== null; }
  listen() {
    const scrub = byId("scrub"), again = () => this.show(this.at);
    byId("play").addEventListener("click", () => this.toggle());
    scrub.addEventListener("input", () => { this.stop(); this.isScrubbing = true; this.show(Number(scrub.value)); });
    scrub.addEventListener("change", () => { this.isScrubbing = false; again(); });
    byId("structure").addEventListener("change", again);
    byId("highlight").addEventListener("change", again);
    byId("fit").addEventListener("click", () => { this.view.fit(); again(); });
    byId("up").addEventListener("click", () => this.turnUp());
    byId("player").addEventListener("keydown", (event) => this.key(event));
    byId("player").addEventListener("keyup", () => { if (this.isScrubbing) { this.isScrubbing = false; again(); } });
    byId("stage").addEventListener("pointerdown", () => byId("stage").focus({ preventScroll: true }));
    byId("stage").addEventListener("focus", () => { this.view.takesWheel = true; });
    byId("stage").addEventListener("blur", () => { this.view.takesWheel = false; });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.paint(); again(); });
    new ResizeObserver(again).observe(byId("stage"));
  }
  key(event) {
    if (event.target.matches("select, button, input[type=checkbox]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.scene.frames.length - 1;
    const steps = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: last };
    const turns = { a: [-1, 0], d: [1, 0], w: [0, 1], s: [0, -1] };
    if (event.key === " ") last && this.toggle();
    else if (event.key in steps) { this.stop(); this.isScrubbing = event.repeat; this.show(Math.min(last, Math.max(0, steps[event.key]))); }
    else if (event.key === "+" || event.key === "-") this.view.zoom(event.key === "+" ? 1.25 : 0.8);
    else if (event.key in turns) this.push(...turns[event.key]);
    else return;
    event.preventDefault();
  }
  push(x, y) {
    if (!this.isSolid) this.view.move(x * 60 / this.view.scale, y * 60 / this.view.scale);
    else if (x) this.view.turn(0.15 * x);
    else this.view.tilt(-0.12 * y);
  }
  turnUp() {
    const isZ = byId("up").textContent === "Up: y";
    byId("up").textContent = isZ ? "Up: z" : "Up: y";
    this.view.up = isZ ? 2 : 1;
    this.show(this.at);
  }
  toggle() {
    if (this.isPlaying) return this.stop();
    const isOver = this.at === this.scene.frames.length - 1;
    const dt = RESULT.scene.dt, pause = 1e3 * Math.min(0.5, Math.max(1 / 60, dt || 1 / 15));
    let due = performance.now() + pause;
    const step = (now) => {
      if (now >= due - 2) { // 2 ms: what a screen's frame may come too early
        due = Math.max(due + pause, now);
        if (this.at + 1 >= this.scene.frames.length) return this.stop();
        this.show(this.at + 1);
      }
      this.timer = requestAnimationFrame(step);
    };
    this.timer = requestAnimationFrame(step);
    this.tell();
    if (isOver) this.show(0);
  }
  stop() {
    if (!this.isPlaying) return;
    cancelAnimationFrame(this.timer);
    this.timer = null;
    this.tell();
    this.show(this.at);
  }
  tell() {
    byId("play").textContent = this.isPlaying ? "Pause" : "Play";
    byId("play").setAttribute("aria-pressed", this.isPlaying);
  }
  paint() {
    this.palette = KINDS.map(ink);
    this.legend.forEach(({ dot }, kind) => { dot.style.background = this.palette[kind]; });
  }
  async show(i) {
    this.at = i;
    const turn = ++this.turn, { scene } = this, last = RESULT.scene.frames - 1;
    const frame = last ? `frame ${scene.frames[i]} of ${last}` : "the only frame";
    byId("scrub").value = i;
    byId("frame").textContent = frame;
    byId("scrub").setAttribute("aria-valuetext", frame);
    const parts = await this.partsOf(byId("structure").value, i);
    if (turn !== this.turn) return; // overtaken by a later frame
    this.sort(i);
    this.say(parts);
    const width = 2 * scene.ndim * scene.objects;
    this.view.draw(this.boxes.subarray(i * width, (i + 1) * width), this.kinds, this.palette, parts, this.isPlaying || this.isScrubbing);
    byId("stage").dataset.drawn = i;
    byId("stage").dataset.parts = parts ? parts.shades.length : 0;
  }
  // What each object is drawn as in a frame: 0 when it is not there.
  sort(i) {
    const { kinds, counts, states, roles } = this, n = kinds.length, marks = byId("highlight").checked;
    counts.fill(0);
    for (let row = 0, at = i * n; row < n; row++, at++) {
      const state = states[at], role = roles[row];
      let kind = 0;
      if (state & 1) {
        kind = role & 2 ? 4 : role & 1 ? 1 : state & 2 ? 2 : 3;
        counts[kind]++;
        if (state & 4) {
          counts[PAIRED]++;
          if (marks && !(role & this.marked)) kind = PAIRED;
        }
      }
      kinds[row] = kind;
    }
  }
  async partsOf(choice, i) {
    if (choice === "") return null;
    const { looks, label } = this.scene.structures[choice], { ndim } = this.scene;
    const near = looks.reduce((a, b) => Math.abs(b.frame - i) < Math.abs(a.frame - i) ? b : a);
    const key = `${choice} ${near.frame}`;
    if (!this.parts.has(key)) {
      const [boxes, counts] = await Promise.all([unpackBoxes(near.boxes, 2 * ndim, ndim), unpack(near.counts, Uint32Array)]);
      const most = Math.log2(1 + counts.reduce((a, b) => Math.max(a, b), 1));
      const shades = Uint8Array.from(counts, (count) => Math.min(3, Math.floor(4 * Math.log2(1 + count) / (most + 1e-9))));
      this.parts.set(key, { look: near, boxes, shades, label });
    }
    return this.parts.get(key);
  }
  say(parts) {
    const pairs = this.scene.pairs[this.at], { counts } = this, words = (kind, text) => {
      const entry = this.legend[kind];
      entry.item.hidden = !text;
      if (entry.words.textContent !== text) entry.words.textContent = text;
    };
    for (let kind = 1; kind < PAIRED; kind++) words(kind, counts[kind] ? `${whole(counts[kind])} ${KINDS[kind]}` : "");
    words(PAIRED, pairs === null || !byId("highlight").checked ? "" : this.met(pairs));
    words(0, parts && parts.shades.length ? `parts of ${parts.label}` : "");
    byId("look").textContent = parts ? this.told(parts) : "";
  }
  met(pairs) {
    if (!pairs) return "none in a pair";
    const kept = this.counts[1] && this.marked ? "; static ones keep their colour" : "";
    return `${whole(this.counts[PAIRED])} of them in ${whole(pairs)} ${pairs === 1 ? "pair" : "pairs"}${kept}`;
  }
  told({ look, label }) {
    const held = `${whole(look.entries)} entries, at most ${whole(look.max_bucket)} in one`;
    const met = look.pairs === null ? "" : `; ${whole(look.candidates)} candidates looked at for ${whole(look.pairs)} pairs`;
    const what = look.untold ? `its parts cannot be drawn, ${look.untold}; ` : `${whole(look.of)} ${look.of === 1 ? "part" : "parts"} (${look.kinds.join(", ")}), `;
    return `${label} in frame ${this.scene.frames[look.frame]}: ${what}${held}${met}.`;
  }
}

Player.start(DATA.scene).then((player) => { globalThis.player = player; document.body.dataset.ready = "yes"; }, (error) => {
  byId("stage").replaceChildren(element("p", `The scene cannot be drawn here (${error.message}); the figures are complete.`, { role: "alert" }));
  document.body.dataset.ready = "no";
});
