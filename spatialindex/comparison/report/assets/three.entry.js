// What the report uses of three 0.187.0; three.min.js is made of it by esbuild, next to node_modules:
//   npm install three@0.187.0 esbuild
//   npx esbuild three.entry.js --bundle --minify --format=iife --global-name=THREE --outfile=three.min.js
export {
  BufferAttribute, BufferGeometry, Color, DataTexture, FloatType, GLSL3, LineSegments, Mesh,
  PerspectiveCamera, Scene, ShaderMaterial, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
