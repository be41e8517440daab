"use strict";
// A scene in 2D on a canvas. Boxes of one colour are one path, so that many cost few calls.
class Flat {
  constructor(canvas, focus) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.focus = focus;
    this.grabbed = null;
    this.fit();
    canvas.addEventListener("pointerdown", (event) => { this.grabbed = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { this.grabbed = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.grabbed) return;
      this.x -= (event.clientX - this.grabbed[0]) / this.scale;
      this.y += (event.clientY - this.grabbed[1]) / this.scale;
      this.grabbed = [event.clientX, event.clientY];
      this.redraw();
    });
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY / 400)); }, { passive: false });
  }
  fit() {
    const [x0, y0, x1, y1] = this.focus, { clientWidth: w, clientHeight: h } = this.canvas;
    this.x = (x0 + x1) / 2;
    this.y = (y0 + y1) / 2;
    this.scale = 0.92 * Math.min(w / (x1 - x0), h / (y1 - y0));
  }
  zoom(factor) { this.scale *= factor; this.redraw(); }
  redraw() { if (this.last) this.draw(...this.last); }
  rectangle(boxes, i) {
    const { clientWidth: w, clientHeight: h } = this.canvas, k = this.scale;
    const left = Math.max(-9, (boxes[i] - this.x) * k + w / 2), right = Math.min(w + 9, (boxes[i + 2] - this.x) * k + w / 2);
    const top = Math.max(-9, h / 2 - (boxes[i + 3] - this.y) * k), bottom = Math.min(h + 9, h / 2 - (boxes[i + 1] - this.y) * k);
    if (right >= left && bottom >= top) this.pen.rect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
  }
  // groups: [{color, rows, alpha}] over boxes; marked: rows; parts: {boxes, shades, color}
  draw(boxes, groups, marked, parts) {
    this.last = [boxes, groups, marked, parts];
    const ratio = devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = this.canvas, pen = this.pen;
    if (this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(h * ratio)) {
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(h * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    for (const { rows, color } of groups) {
      pen.beginPath();
      for (const row of rows) this.rectangle(boxes, 4 * row);
      pen.fillStyle = pen.strokeStyle = color;
      pen.globalAlpha = 0.55;
      pen.fill("nonzero");
      pen.globalAlpha = 1;
      pen.lineWidth = 0.6;
      pen.stroke();
    }
    pen.beginPath();
    for (const row of marked.rows) this.rectangle(boxes, 4 * row);
    pen.strokeStyle = marked.color;
    pen.lineWidth = 1.5;
    pen.stroke();
    if (!parts) return;
    for (let shade = 0; shade < 4; shade++) { // fuller parts are darker
      pen.beginPath();
      parts.shades.forEach((of, i) => { if (of === shade) this.rectangle(parts.boxes, 4 * i); });
      pen.fillStyle = pen.strokeStyle = parts.color;
      pen.globalAlpha = 0.02 + 0.06 * shade;
      pen.fill();
      pen.globalAlpha = 0.45 + 0.15 * shade;
      pen.lineWidth = 0.8;
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }
}
