"use strict";
// A scene in 2D on a canvas, and one in 3D from above where there is no WebGL. Boxes are filled one
// by one, on whole pixels where they are small, which is what canvases are quick at; the parts of a
// structure are kept as a picture of their own until they or the view change.
// How much of their ink many parts keep, so that one sees what is in them.
function faintness(parts) { return Math.min(1, Math.max(0.4, Math.sqrt(300 / Math.max(1, parts)))); }

class Flat {
  constructor(canvas, focus, ndim = 2) {
    Object.assign(this, { canvas, pen: canvas.getContext("2d"), ndim, grabbed: null, last: null, asked: 0, takesWheel: false, layer: document.createElement("canvas"), drawn: "", parts: null });
    this.focus = [focus[0], focus[1], focus[ndim], focus[ndim + 1]];
    this.fit();
    canvas.addEventListener("pointerdown", (event) => { this.grabbed = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { this.grabbed = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.grabbed) return;
      this.move((this.grabbed[0] - event.clientX) / this.scale, (event.clientY - this.grabbed[1]) / this.scale);
      this.grabbed = [event.clientX, event.clientY];
    });
    canvas.addEventListener("wheel", (event) => {
      if (!this.takesWheel) return; // a page has to scroll
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX - canvas.clientWidth / 2, canvas.clientHeight / 2 - event.offsetY);
    }, { passive: false });
  }
  fit() {
    const [x0, y0, x1, y1] = this.focus, { clientWidth: w, clientHeight: h } = this.canvas;
    this.x = (x0 + x1) / 2;
    this.y = (y0 + y1) / 2;
    this.scale = 0.92 * Math.min(w / (x1 - x0 || 1), h / (y1 - y0 || 1));
  }
  move(x, y) { this.x += x; this.y += y; this.ask(); }
  // What is `x`, `y` pixels from the middle stays there.
  zoom(factor, x = 0, y = 0) {
    const gained = (1 - 1 / factor) / this.scale;
    this.scale *= factor;
    this.move(x * gained, y * gained);
  }
  ask() {
    this.asked = this.asked || requestAnimationFrame(() => { this.asked = 0; if (this.last) this.draw(...this.last); });
  }
  // Calls `each` with the corner and size, in pixels, of every box that is in view.
  visit(boxes, count, has, each) {
    const { width: w, height: h } = this.canvas, k = this.scale * this.ratio, across = 2 * this.ndim, far = this.ndim;
    const left = w / 2 - this.x * k, top = h / 2 + this.y * k, { min, max } = Math;
    for (let row = 0, i = 0; row < count; row++, i += across) {
      if (!has(row)) continue;
      const x0 = left + boxes[i] * k, x1 = left + boxes[i + far] * k, y0 = top - boxes[i + far + 1] * k, y1 = top - boxes[i + 1] * k;
      if (x1 < 0 || y1 < 0 || x0 > w || y0 > h) continue;
      each(max(-9, x0), max(-9, y0), min(w + 9, x1) - max(-9, x0), min(h + 9, y1) - max(-9, y0), row);
    }
  }
  draw(boxes, kinds, palette, parts) {
    this.last = [boxes, kinds, palette, parts];
    this.ratio = Math.min(2, devicePixelRatio || 1);
    const { canvas, pen, ratio } = this, { round, max } = Math;
    const w = round(canvas.clientWidth * ratio), h = round(canvas.clientHeight * ratio), there = new Set(kinds);
    if (!w || !h) return; // there is no place to draw in
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== h) canvas.height = h;
    pen.clearRect(0, 0, w, h);
    const small = 7 * ratio;
    pen.lineWidth = ratio;
    for (let kind = 1; kind < palette.length; kind++) {
      if (!there.has(kind)) continue;
      pen.fillStyle = pen.strokeStyle = palette[kind];
      pen.globalAlpha = 0.6;
      const large = [];
      this.visit(boxes, kinds.length, (row) => kinds[row] === kind, (x, y, wide, high) => {
        if (wide < small && high < small) pen.fillRect(round(x), round(y), max(1, round(wide)), max(1, round(high)));
        else {
          pen.fillRect(x, y, max(1, wide), max(1, high));
          large.push(x, y, max(1, wide), max(1, high));
        }
      });
      pen.globalAlpha = 1;
      for (let i = 0; i < large.length; i += 4) pen.strokeRect(large[i], large[i + 1], large[i + 2], large[i + 3]);
    }
    if (!parts) return;
    const seen = `${w} ${h} ${this.x} ${this.y} ${this.scale} ${palette[0]}`;
    if (this.parts !== parts || this.drawn !== seen) this.outline(parts, palette[0], w, h);
    this.parts = parts;
    this.drawn = seen;
    pen.drawImage(this.layer, 0, 0);
  }
  outline(parts, color, w, h) {
    this.layer.width = w;
    this.layer.height = h;
    const pen = this.layer.getContext("2d");
    pen.fillStyle = pen.strokeStyle = color;
    pen.lineWidth = 0.8 * this.ratio;
    const faint = faintness(parts.shades.length);
    for (let shade = 0; shade < 4; shade++) { // fuller parts are darker
      pen.beginPath();
      pen.globalAlpha = faint * (0.02 + 0.05 * shade);
      this.visit(parts.boxes, parts.shades.length, (row) => parts.shades[row] === shade, (x, y, wide, high) => {
        pen.fillRect(x, y, wide, high);
        pen.rect(x, y, wide, high);
      });
      pen.globalAlpha = faint * (0.45 + 0.15 * shade);
      pen.stroke();
    }
  }
}
