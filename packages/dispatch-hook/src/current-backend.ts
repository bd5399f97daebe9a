import { type Backend, findBackend } from "@remat/backends";
import { getKernel } from "@tensorflow/tfjs-core";
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

/** Whether the current backend's `UnsortedSegmentSum` adds the rows of a segment in their order; fake mode stands for the backend that the process has. @internal */
export function addsSegmentsInOrder(): boolean {
  const { backendName = "none", backendInstance, registry } = engineInternals();
  if (getKernel("UnsortedSegmentSum", backendName) === undefined) return false;
  const backend = bufferBackend(backendName, backendInstance);
  const instance = backendInstance?.standsFor === undefined ? backendInstance : registry[backend.name];
  return backend.addsSegmentsInOrder?.(instance) ?? false;
}
