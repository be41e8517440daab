"use strict";
// A scene in 3D. All boxes are one draw call without instances, which software renderers draw one by
// one: a vertex looks its box up in a texture by its number, and only the three faces that are
// turned to the camera are drawn, 7 corners and 6 triangles a box.
const FACES = { corners: 7, index: [0, 5, 1, 6, 0, 1, 0, 4, 2, 6, 0, 2, 0, 4, 3, 5, 0, 3] };
const EDGES = { corners: 8, index: [0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3, 4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7] };
const WIDE = 1024; // boxes a row of the texture
const LOOK_UP = `precision highp sampler2D; uniform sampler2D data; uniform vec3 colors[6]; uniform float pixel; uniform float faint;
  vec4 lower, upper;
  vec4 found(int corners) { int box = gl_VertexID / corners; ivec2 at = ivec2(2 * (box % ${WIDE}), box / ${WIDE});
    lower = texelFetch(data, at, 0); upper = texelFetch(data, at + ivec2(1, 0), 0); return lower; }`;
const FACE_SHADER = `${LOOK_UP} flat out vec3 shade;
  const vec3 corners[7] = vec3[7](vec3(0, 0, 0), vec3(0, 1, 1), vec3(1, 0, 1), vec3(1, 1, 0), vec3(1, 0, 0), vec3(0, 1, 0), vec3(0, 0, 1));
  void main() { vec4 box = found(7); int k = gl_VertexID % 7;
    vec3 middle = 0.5 * (lower.xyz + upper.xyz);
    float away = max(0.0, -(viewMatrix * vec4(middle, 1.0)).z);
    vec3 half_edges = max(0.5 * (upper.xyz - lower.xyz), vec3(0.6 * pixel * away)); // never less than about a pixel
    vec3 side = sign(cameraPosition - middle) + vec3(equal(cameraPosition, middle));
    vec3 axis = vec3(k == 1, k == 2, k == 3); // the last corner of a triangle gives its shade
    shade = colors[int(box.w)] * (0.72 + 0.28 * dot(side * axis, vec3(0.4, 0.8, 0.45)));
    gl_Position = projectionMatrix * viewMatrix * vec4(middle + side * half_edges * (1.0 - 2.0 * corners[k]), 1.0); }`;
const EDGE_SHADER = `${LOOK_UP} out vec4 shade;
  void main() { vec4 box = found(8); int k = gl_VertexID % 8;
    shade = vec4(colors[0], faint * (0.25 + 0.25 * box.w));
    gl_Position = projectionMatrix * viewMatrix * vec4(mix(lower.xyz, upper.xyz, vec3(k & 1, (k >> 1) & 1, k >> 2)), 1.0); }`;

// Many boxes as one mesh: `write` puts lower, kind, upper into eight numbers each.
class Boxes {
  constructor(scene, shape, isLines) {
    Object.assign(this, { scene, shape, isLines, room: 0, made: null });
    this.uniforms = { data: { value: null }, colors: { value: Array.from({ length: 6 }, () => new THREE.Color()) }, pixel: { value: 0 }, faint: { value: 1 } };
    this.material = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3, uniforms: this.uniforms, transparent: isLines, depthWrite: !isLines, side: 2,
      vertexShader: isLines ? EDGE_SHADER : FACE_SHADER,
      fragmentShader: isLines ? "in vec4 shade; out vec4 color; void main() { color = shade; }" : "flat in vec3 shade; out vec4 color; void main() { color = vec4(shade, 1.0); }",
    });
  }
  reserve(count) {
    if (count <= this.room && this.made) return;
    if (this.made) {
      this.scene.remove(this.made);
      this.made.geometry.dispose();
      this.texture.dispose();
    }
    const { corners, index } = this.shape, rows = Math.max(1, Math.ceil(count / WIDE)), all = new Uint32Array(index.length * count);
    for (let i = 0, at = 0; i < count; i++) for (let k = 0; k < index.length; k++) all[at++] = corners * i + index[k];
    this.room = count;
    this.numbers = new Float32Array(8 * WIDE * rows);
    this.texture = new THREE.DataTexture(this.numbers, 2 * WIDE, rows, undefined, THREE.FloatType);
    this.uniforms.data.value = this.texture;
    const geometry = new THREE.BufferGeometry();
    geometry.setIndex(new THREE.BufferAttribute(all, 1));
    this.made = this.isLines ? new THREE.LineSegments(geometry, this.material) : new THREE.Mesh(geometry, this.material);
    this.made.frustumCulled = false;
    this.scene.add(this.made);
  }
  show(count) {
    this.made.geometry.setDrawRange(0, this.shape.index.length * count);
    this.made.visible = count > 0;
    this.texture.needsUpdate = true;
  }
}

class Solid {
  constructor(canvas, focus) {
    Object.assign(this, { canvas, focus, shift: 0, asked: 0, size: "", took: [], isSlow: false, isTurning: false, last: null });
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: false, alpha: true });
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(45, 1, 1, 10);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.controls.zoomToCursor = true;
    this.controls.enableZoom = false; // until the scene has the focus: a page has to scroll
    this.faces = new Boxes(this.scene, FACES, false);
    this.edges = new Boxes(this.scene, EDGES, true);
    this.fit();
    this.controls.addEventListener("change", () => this.ask());
    this.controls.addEventListener("start", () => { this.isTurning = true; });
    this.controls.addEventListener("end", () => { this.isTurning = false; this.ask(); });
    canvas.addEventListener("webglcontextrestored", () => this.ask());
  }
  set takesWheel(yes) { this.controls.enableZoom = yes; }
  // Which axis is up: 1 for y, 2 for z. Axes are turned around, so that right-handed stays so.
  set up(axis) { this.shift = axis - 1; this.last = null; this.fit(); }
  fit() {
    const f = this.focus, s = this.shift, at = (k) => f[(k + s) % 3], to = (k) => f[(k + s) % 3 + 3];
    const size = Math.hypot(f[3] - f[0], f[4] - f[1], f[5] - f[2]) || 1;
    const middle = [0, 1, 2].map((k) => (at(k) + to(k)) / 2);
    const far = size * 1.34 * Math.max(1, this.canvas.clientHeight / Math.max(1, this.canvas.clientWidth));
    this.camera.position.set(middle[0] + far * 0.62, middle[1] + far * 0.5, middle[2] + far * 0.71);
    this.extent = size;
    this.controls.target.set(...middle);
    this.controls.update();
  }
  move(change) {
    const { camera, controls } = this;
    const offset = change(camera.position.clone().sub(controls.target));
    camera.position.copy(controls.target).add(offset);
    controls.update();
    this.ask();
  }
  zoom(factor) { this.move((offset) => offset.divideScalar(factor)); }
  turn(angle) { this.move((offset) => offset.applyAxisAngle(new THREE.Vector3(0, 1, 0), angle)); }
  tilt(angle) {
    this.move((offset) => {
      const aside = new THREE.Vector3(0, 1, 0).cross(offset).normalize(), turned = offset.clone().applyAxisAngle(aside, angle);
      return Math.abs(turned.y) < 0.995 * turned.length() ? turned : offset;
    });
  }
  // One drawing for whatever happens until the next frame; nothing is drawn while nothing changes.
  ask() {
    this.asked = this.asked || requestAnimationFrame(() => { this.asked = 0; this.render(this.isTurning); });
  }
  draw(boxes, kinds, palette, parts, isMoving) {
    const s = this.shift, a = s, b = (1 + s) % 3, c = (2 + s) % 3;
    const write = (to, at, from, i, kind) => {
      to[at] = from[i + a]; to[at + 1] = from[i + b]; to[at + 2] = from[i + c]; to[at + 3] = kind;
      to[at + 4] = from[i + 3 + a]; to[at + 5] = from[i + 3 + b]; to[at + 6] = from[i + 3 + c];
    };
    this.faces.reserve(kinds.length);
    let count = 0;
    for (let row = 0; row < kinds.length; row++) if (kinds[row]) write(this.faces.numbers, 8 * count++, boxes, 6 * row, kinds[row]);
    this.faces.show(count);
    palette.forEach((css, i) => this.faces.uniforms.colors.value[i].setStyle(css, "srgb-linear")); // as it is on the page
    const shown = parts ? parts.shades.length : 0;
    if (parts && parts !== this.last) {
      this.edges.reserve(shown);
      for (let i = 0; i < shown; i++) write(this.edges.numbers, 8 * i, parts.boxes, 6 * i, parts.shades[i]);
      this.edges.uniforms.faint.value = faintness(shown);
      this.edges.show(shown);
    }
    if (this.edges.made) this.edges.made.visible = shown > 0;
    this.edges.uniforms.colors.value[0].setStyle(palette[0], "srgb-linear");
    this.last = parts;
    this.render(isMoving);
  }
  // Twice as many pixels each way smooth edges; where that is slow, only what stands still has them.
  render(isMoving) {
    const { clientWidth: w, clientHeight: h } = this.canvas, { camera, controls } = this;
    const ratio = isMoving && this.isSlow ? 1 : 2, size = `${w} ${h} ${ratio}`;
    if (size !== this.size) {
      this.size = size;
      this.renderer.setPixelRatio(ratio);
      this.renderer.setSize(w, h, false);
      camera.aspect = w / Math.max(1, h);
    }
    const away = camera.position.distanceTo(controls.target);
    camera.near = away / 500;
    camera.far = away + 50 * this.extent;
    camera.updateProjectionMatrix();
    this.faces.uniforms.pixel.value = 2 * Math.tan(camera.fov * Math.PI / 360) / Math.max(1, h);
    const began = performance.now();
    this.renderer.render(this.scene, camera);
    if (isMoving || this.took.length > 2) return;
    const gl = this.renderer.getContext(); // reading waits until it is drawn
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    this.took.push(performance.now() - began);
    this.isSlow = Math.min(...this.took) > 20; // the first one compiles
  }
}
