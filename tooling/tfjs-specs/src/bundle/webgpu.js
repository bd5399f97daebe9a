import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-backend-cpu";
import { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import { setTestEnvs } from "@tensorflow/tfjs-core/dist/jasmine_util";

// WebGPU's synchronous read uses a canvas, which crashes Chromium's software device.
WebGPUBackend.prototype.readSync = () => {
  throw new Error("values on a device that is software are not read at once");
};
// As in tfjs-backend-webgpu (`backend_webgpu_test_registry.ts`).
setTestEnvs([
  {
    name: "webgpu",
    backendName: "webgpu",
    flags: { WEBGPU_CPU_FORWARD: false },
    isDataSync: false,
  },
]);
