// One line for each backend, under its name in tfjs-core.
export { cpu } from "./cpu/cpu.js";
export { native as tensorflow } from "./native/native.js";
export { wasm } from "./wasm/wasm.js";
export { webgl } from "./webgl/webgl.js";
export { webgpu } from "./webgpu/webgpu.js";
