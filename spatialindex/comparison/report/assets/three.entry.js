// What the report uses of three 0.187.0; three.min.js is made of it by esbuild, next to node_modules:
//   npm install three@0.187.0 esbuild
//   npx esbuild three.entry.js --bundle --minify --format=iife --global-name=THREE --outfile=three.min.js
export {
  BoxGeometry, BufferAttribute, BufferGeometry, Color, DynamicDrawUsage, EdgesGeometry,
  InstancedBufferAttribute, InstancedBufferGeometry, LineBasicMaterial, LineSegments, Mesh,
  PerspectiveCamera, Scene, ShaderMaterial, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
