"use strict";
// A scene in 3D: one instanced draw call for all objects, one for the lines of all parts.
class Solid {
  constructor(canvas, focus) {
    this.canvas = canvas;
    this.focus = focus;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(45, 1, 1, 10);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.solids = this.instanced(new THREE.BoxGeometry(1, 1, 1), false);
    this.lines = this.instanced(new THREE.EdgesGeometry(new THREE.BoxGeometry(1, 1, 1)), true);
    this.fit();
    this.controls.addEventListener("change", () => this.redraw());
  }
  instanced(shape, isLines) {
    const geometry = new THREE.InstancedBufferGeometry();
    geometry.index = shape.index;
    geometry.setAttribute("position", shape.attributes.position);
    if (!isLines) geometry.setAttribute("normal", shape.attributes.normal);
    const material = new THREE.ShaderMaterial({
      transparent: isLines, depthWrite: !isLines,
      vertexShader: `attribute vec3 lower; attribute vec3 upper; attribute vec4 color; varying vec4 shade;
        void main() { vec3 at = mix(lower, upper, position + 0.5);
          ${isLines ? "shade = color;" : "shade = vec4(color.rgb * (0.72 + 0.28 * dot(normal, vec3(0.4, 0.8, 0.45))), color.a);"}
          gl_Position = projectionMatrix * modelViewMatrix * vec4(at, 1.0); }`,
      fragmentShader: "varying vec4 shade; void main() { gl_FragColor = shade; }",
    });
    const made = isLines ? new THREE.LineSegments(geometry, material) : new THREE.Mesh(geometry, material);
    made.frustumCulled = false;
    this.scene.add(made);
    return made;
  }
  fit() {
    const f = this.focus, size = Math.hypot(f[3] - f[0], f[4] - f[1], f[5] - f[2]) || 1;
    const middle = [0, 1, 2].map((i) => (f[i] + f[i + 3]) / 2);
    this.camera.near = size / 1000;
    this.camera.far = size * 50;
    this.camera.position.set(middle[0] + size * 0.75, middle[1] + size * 0.6, middle[2] + size * 0.85);
    this.controls.target.set(...middle);
    this.controls.update();
  }
  zoom(factor) {
    const offset = this.camera.position.clone().sub(this.controls.target).divideScalar(factor);
    this.camera.position.copy(this.controls.target).add(offset);
    this.controls.update();
    this.redraw();
  }
  turn(angle) {
    const offset = this.camera.position.clone().sub(this.controls.target).applyAxisAngle(new THREE.Vector3(0, 1, 0), angle);
    this.camera.position.copy(this.controls.target).add(offset);
    this.controls.update();
    this.redraw();
  }
  fill(made, count, boxAt, colorAt) {
    const lower = new Float32Array(3 * count), upper = new Float32Array(3 * count), color = new Float32Array(4 * count);
    for (let i = 0; i < count; i++) {
      const [boxes, at] = boxAt(i);
      lower.set(boxes.subarray(at, at + 3), 3 * i);
      upper.set(boxes.subarray(at + 3, at + 6), 3 * i);
      color.set(colorAt(i), 4 * i);
    }
    const geometry = made.geometry;
    for (const [name, values, width] of [["lower", lower, 3], ["upper", upper, 3], ["color", color, 4]]) {
      const held = geometry.getAttribute(name);
      if (held && held.array.length >= values.length) {
        held.array.set(values);
        held.needsUpdate = true;
      } else {
        if (held) geometry.dispose();
        geometry.setAttribute(name, new THREE.InstancedBufferAttribute(values, width).setUsage(THREE.DynamicDrawUsage));
      }
    }
    geometry.instanceCount = count;
    made.visible = count > 0;
  }
  draw(boxes, groups, marked, parts) {
    const rows = [], colors = [], paired = new Set(marked.rows), paint = (css) => new THREE.Color().setStyle(css, "srgb-linear").toArray() /* as it is on the page */;
    const mark = paint(marked.color);
    for (const group of groups) {
      const color = paint(group.color);
      for (const row of group.rows) { rows.push(row); colors.push(paired.has(row) ? mark : color); }
    }
    this.fill(this.solids, rows.length, (i) => [boxes, 6 * rows[i]], (i) => [...colors[i], 1]);
    const color = parts ? paint(parts.color) : [];
    this.fill(this.lines, parts ? parts.shades.length : 0, (i) => [parts.boxes, 6 * i], (i) => [...color, 0.2 + 0.2 * parts.shades[i]]);
    this.redraw();
  }
  redraw() {
    const { clientWidth: w, clientHeight: h } = this.canvas, ratio = Math.min(2, devicePixelRatio || 1);
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / Math.max(1, h);
    this.camera.updateProjectionMatrix();
    this.renderer.render(this.scene, this.camera);
  }
}
