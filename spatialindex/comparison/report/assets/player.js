"use strict";
// The scene player: unpacks frames, keeps the time, and hands what is to be drawn to Flat or Solid.
async function unpack(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Kind(await new Response(stream).arrayBuffer());
}

class Player {
  static async start(scene) {
    const [boxes, states, roles] = await Promise.all([unpack(scene.boxes, Float32Array), unpack(scene.states, Uint8Array), unpack(scene.roles, Uint8Array)]);
    return new Player(scene, boxes, states, roles);
  }
  constructor(scene, boxes, states, roles) {
    Object.assign(this, { scene, boxes, states, roles, at: 0, timer: null, parts: new Map(), turn: 0 });
    const View = scene.ndim === 3 ? Solid : Flat;
    this.view = new View(byId("canvas"), scene.focus);
    byId("scrub").max = scene.frames.length - 1;
    byId("structure").append(element("option", "none", { value: "" }), ...scene.structures.map((one, i) => element("option", one.label, { value: i })));
    const best = scene.structures.findIndex((one) => one.label === RESULT.verdict.fastest);
    byId("structure").value = best < 0 ? "" : best;
    list(byId("notes"), scene.notes);
    this.listen();
    this.show(0);
  }
  get isPlaying() { return this.timer !== null; }
  listen() {
    byId("play").addEventListener("click", () => this.toggle());
    byId("scrub").addEventListener("input", (event) => { this.stop(); this.show(Number(event.target.value)); });
    byId("structure").addEventListener("change", () => this.show(this.at));
    byId("highlight").addEventListener("change", () => this.show(this.at));
    byId("fit").addEventListener("click", () => { this.view.fit(); this.show(this.at); });
    byId("player").addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show(this.at));
    new ResizeObserver(() => this.show(this.at)).observe(byId("stage"));
  }
  key(event) {
    if (event.target.matches("select, button, input[type=checkbox]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.scene.frames.length - 1;
    const steps = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: last };
    if (event.key === " ") this.toggle();
    else if (event.key in steps) { this.stop(); this.show(Math.min(last, Math.max(0, steps[event.key]))); }
    else if (event.key === "+" || event.key === "-") this.view.zoom(event.key === "+" ? 1.25 : 0.8);
    else if ((event.key === "a" || event.key === "d") && this.view.turn) this.view.turn(event.key === "a" ? -0.15 : 0.15);
    else return;
    event.preventDefault();
  }
  toggle() {
    if (this.isPlaying) return this.stop();
    if (this.at === this.scene.frames.length - 1) this.show(0);
    const dt = RESULT.scene.dt, pause = 1e3 * Math.min(0.5, Math.max(1 / 60, dt || 1 / 15));
    let before = performance.now();
    const step = (now) => {
      if (now - before >= pause) {
        before = now;
        if (this.at + 1 >= this.scene.frames.length) return this.stop();
        this.show(this.at + 1);
      }
      this.timer = requestAnimationFrame(step);
    };
    this.timer = requestAnimationFrame(step);
    this.tell();
  }
  stop() {
    cancelAnimationFrame(this.timer);
    this.timer = null;
    this.tell();
  }
  tell() {
    byId("play").textContent = this.isPlaying ? "Pause" : "Play";
    byId("play").setAttribute("aria-pressed", this.isPlaying);
  }
  async show(i) {
    this.at = i;
    const turn = ++this.turn, { scene } = this, n = scene.objects;
    byId("scrub").value = i;
    byId("frame").textContent = `frame ${scene.frames[i]} of ${RESULT.scene.frames - 1}`;
    const parts = await this.partsOf(byId("structure").value, i);
    if (turn !== this.turn) return; // overtaken by a later frame
    const groups = this.groups(i), marked = { color: ink("paired"), rows: [] };
    if (byId("highlight").checked) {
      for (let row = 0; row < n; row++) if (this.states[i * n + row] & 4) marked.rows.push(row);
    }
    this.legend(groups, marked, parts);
    const width = 2 * scene.ndim * n;
    this.view.draw(this.boxes.subarray(i * width, (i + 1) * width), groups, marked, parts);
    byId("stage").dataset.drawn = i;
    byId("stage").dataset.parts = parts ? parts.shades.length : 0;
  }
  groups(i) {
    const n = this.scene.objects, named = ["static", "asleep", "moving", "sensor"].map((name) => ({ name, color: ink(name), rows: [] }));
    for (let row = 0; row < n; row++) {
      const state = this.states[i * n + row];
      if (state & 1) named[this.roles[row] & 2 ? 3 : this.roles[row] & 1 ? 0 : state & 2 ? 1 : 2].rows.push(row);
    }
    return named;
  }
  async partsOf(choice, i) {
    if (choice === "") return null;
    const { looks } = this.scene.structures[choice];
    const near = looks.reduce((a, b) => Math.abs(b.frame - i) < Math.abs(a.frame - i) ? b : a);
    const key = `${choice} ${near.frame}`;
    if (!this.parts.has(key)) {
      const [boxes, counts] = await Promise.all([unpack(near.boxes, Float32Array), unpack(near.counts, Uint32Array)]);
      const most = Math.log2(1 + counts.reduce((a, b) => Math.max(a, b), 1));
      const shades = Array.from(counts, (count) => Math.min(3, Math.floor(4 * Math.log2(1 + count) / (most + 1e-9))));
      this.parts.set(key, { look: near, boxes, shades });
    }
    return { ...this.parts.get(key), color: ink("part"), label: this.scene.structures[choice].label };
  }
  legend(groups, marked, parts) {
    const entries = groups.filter((group) => group.rows.length).map((group) => [group.color, `${group.name} ${whole(group.rows.length)}`]);
    const pairs = this.scene.pairs[this.at];
    if (pairs !== null) entries.push([marked.color, `in a pair (${whole(pairs)} pairs)`]);
    if (parts) entries.push([parts.color, `parts of ${parts.label}`]);
    byId("legend").replaceChildren(...entries.map(([color, words]) => {
      const item = element("li"), dot = element("span");
      dot.style.background = color;
      item.append(dot, words);
      return item;
    }));
    const look = parts && parts.look;
    byId("look").textContent = look ? `${parts.label} in frame ${this.scene.frames[look.frame]}: ${whole(look.of)} parts (${look.kinds.join(", ")}), ${whole(look.entries)} entries, fullest ${whole(look.max_bucket)}${look.pairs === null ? "" : `, ${whole(look.candidates)} candidates for ${whole(look.pairs)} pairs`}.` : "";
  }
}

Player.start(DATA.scene).then((player) => { globalThis.player = player; document.body.dataset.ready = "yes"; }, (error) => {
  byId("stage").replaceChildren(element("p", `The scene cannot be drawn here (${error.message}); the figures below are complete.`, { role: "alert" }));
  document.body.dataset.ready = "no";
});
