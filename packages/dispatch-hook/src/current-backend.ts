import { getKernel } from "@tensorflow/tfjs-core";
import { type Backend, type BackendDevice, findBackend } from "./backends/index.js";
import { type EngineBackend, engineInternals } from "./engine-internals.js";

/**
 * Returns the backend whose buffers count: the instance's own, or the one that the fake backend simulates. @internal
 */
export const bufferBackend = (name: string, instance: EngineBackend | undefined): Backend =>
  instance?.standsFor ?? findBackend(name);

/**
 * Returns the current backend or, in fake mode, the one that it simulates.
 *
 * @example
 * currentBackend().name; // "webgl"
 */
export function currentBackend(): Backend {
  const { backendName, backendInstance } = engineInternals();
  return bufferBackend(backendName ?? "none", backendInstance);
}

/**
 * Returns the device of the current backend's instance. In fake mode, it is the default device of the simulated backend
 * (for native, the host).
 *
 * @example
 * currentDevice().device; // "cuda:0" where tfjs-node-gpu has found a GPU
 */
export const currentDevice = (): BackendDevice => currentBackend().deviceOf(engineInternals().backendInstance);

/**
 * Kernels of the current backend that add many tensors with results bitwise identical to sequential addition. @internal
 */
export interface AddsInOrder {
  /** True if `UnsortedSegmentSum` adds the rows of a segment sequentially. */
  readonly segments: boolean;
  /** Maximum number of inputs that `AddN` adds sequentially. */
  readonly mostInputs: number;
}

/**
 * Returns the kernels that add sequentially on the current backend. Fake mode uses the instance that the process has.
 * @internal
 */
export function addsInOrder(): AddsInOrder {
  const { backendName = "none", backendInstance, registry } = engineInternals();
  const backend = bufferBackend(backendName, backendInstance);
  const instance = backendInstance?.standsFor === undefined ? backendInstance : registry[backend.name];
  const has = (kernel: string) => getKernel(kernel, backendName) !== undefined;
  return {
    segments: has("UnsortedSegmentSum") && (backend.addsSegmentsInOrder?.(instance) ?? false),
    mostInputs: has("AddN") && has("Unpack") ? (backend.mostAddedInOrder?.(instance) ?? 0) : 0,
  };
}
