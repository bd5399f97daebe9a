import { getKernel } from "@tensorflow/tfjs-core";
import { type Backend, type BackendDevice, findBackend } from "./backends/index.js";
import { type EngineBackend, engineInternals } from "./engine-internals.js";

/** Returns the backend whose buffers count: the instance's own, or for the fake backend that which it stands for. @internal */
export const bufferBackend = (name: string, instance: EngineBackend | undefined): Backend =>
  instance?.standsFor ?? findBackend(name);

/**
 * Returns what is known of the backend that is current; in fake mode, of that which it stands for.
 *
 * @example
 * currentBackend().name; // "webgl"
 */
export function currentBackend(): Backend {
  const { backendName, backendInstance } = engineInternals();
  return bufferBackend(backendName ?? "none", backendInstance);
}

/**
 * Returns on what the current backend's instance computes; in fake mode what the backend says without one: native the host.
 *
 * @example
 * currentDevice().device; // "cuda:0" where tfjs-node-gpu has found a GPU
 */
export const currentDevice = (): BackendDevice => currentBackend().deviceOf(engineInternals().backendInstance);

/** By which kernels the current backend adds many tensors to the bits that it gives who adds one after the other. @internal */
export interface AddsInOrder {
  /** Whether `UnsortedSegmentSum` does so with the rows of a segment. */
  readonly segments: boolean;
  /** How many inputs `AddN` may have for it. */
  readonly mostInputs: number;
}

/** What adds in order on the current backend; fake mode stands for the backend that the process has. @internal */
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
