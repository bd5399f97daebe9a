// `backend-list.ts` for the bundles of pages, where TensorFlow does not run.
export { cpu } from "./cpu/cpu.js";
export { wasm } from "./wasm/wasm.js";
export { webgl } from "./webgl/webgl.js";
export { webgpu } from "./webgpu/webgpu.js";
