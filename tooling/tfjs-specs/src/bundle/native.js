// tfjs-node from its sources, because its build cannot extend a class of another tfjs-core; and without its index,
// which would load another engine.
import { createRequire } from "node:module";
import { join } from "node:path";
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import { NodeJSKernelBackend } from "specs:tfjs-node/src/nodejs_kernel_backend";
import { engine, registerBackend, setBackend } from "@tensorflow/tfjs-core";
import { setTestEnvs } from "@tensorflow/tfjs-core/dist/jasmine_util";
import "specs:tfjs-node/src/register_all_kernels";
// In the same order as tfjs-node.
import "@tensorflow/tfjs-backend-cpu";

const { REMAT_SPECS_NATIVE: folder, REMAT_SPECS_PACKAGE: name } = process.env;
const addon = createRequire(join(folder, "package.json"))("./lib/napi-v8/tfjs_binding.node");
registerBackend("tensorflow", () => new NodeJSKernelBackend(addon, `@tensorflow/${name}`), 3);
await setBackend("tensorflow");
// Without flags, since specs distinguish cpu from WebGL 2 by their absence.
setTestEnvs([{ name: "test-tensorflow", backendName: "tensorflow", isDataSync: true }]);
// tfjs-node's fused matMul leaks data, so nearly every spec that trains layers would fail by itself.
if (globalThis.rematSpecsOfLayers) engine().shouldCheckForMemLeaks = () => false;
