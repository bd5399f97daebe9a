import { bufferBackend, engineInternals } from "@remat/dispatch-hook/engine";
import type { TraceHeader } from "@remat/trace";
import { version_core } from "@tensorflow/tfjs-core";

/** TensorFlow's allocator on GPUs rounds up to this (`BFCAllocator::kMinAllocationSize`). */
const gpuUnitBytes = 256;

/** What the engine says about itself now. @internal */
export function tracedHeader(): TraceHeader {
  const engine = engineInternals();
  const { backendName, backendInstance } = engine;
  const backend = bufferBackend(backendName ?? "none", backendInstance);
  const onGpu = (backendInstance as { isUsingGpuDevice?: boolean } | undefined)?.isUsingGpuDevice === true;
  return {
    framework: "tfjs",
    frameworkVersion: version_core,
    libraries: { "@tensorflow/tfjs-core": version_core },
    backend,
    device: onGpu ? "cuda:0" : "cpu",
    mode: backendInstance?.standsFor === undefined ? "real" : "fake",
    allocationUnitBytes: onGpu ? gpuUnitBytes : 1,
  };
}
