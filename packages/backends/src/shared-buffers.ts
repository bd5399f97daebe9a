import type { KernelAttributes } from "@remat/kernels";
import type { TensorInfo } from "@tensorflow/tfjs-core";
import { cpuSharing } from "./cpu/sharing.js";
import { tensorflowSharing } from "./native/sharing.js";
import type { SharedBuffer, SharingRule, TensorShape } from "./sharing-rules.js";
import { wasmSharing } from "./wasm/sharing.js";

const rulesByBackend: ReadonlyMap<string, ReadonlyMap<string, SharingRule>> = new Map([
  ["cpu", cpuSharing],
  ["wasm", wasmSharing],
  ["tensorflow", tensorflowSharing],
]);

const none: readonly SharedBuffer<never>[] = [];

/** The backends whose sharing is known: `cpu`, `wasm`, and `tensorflow`, which is native. */
export const sharingBackends: readonly string[] = [...rulesByBackend.keys()];

/** Whether the `Identity` with which the engine saves a tensor makes a copy on `backend`. @internal */
export const savingCopies = (backend: string): boolean => rulesByBackend.get(backend)?.has("Identity") === false;

/** The kernels of `backend` that may share. A test needs a case for each. @internal */
export const sharingKernels = (backend: string): readonly string[] => [...(rulesByBackend.get(backend)?.keys() ?? [])];

/**
 * Tells which outputs of a kernel live in an input's buffer on `backend`, since a `DataId` is not a buffer (architecture rule 7). On a backend
 * without a table nothing is known to share. Source: the kernels of tfjs 4.22.0 and, for `tensorflow`, those of TensorFlow 2.x. Tests
 * compare with `ArrayBuffer`s on cpu, heap addresses on wasm and resident memory on native.
 *
 * @example
 * const x = { shape: [4, 16], dtype: "float32" };
 * sharedBuffers("tensorflow", "Reshape", { x }, { shape: [64] }); // [{ output: 0, input: x }]
 * sharedBuffers("wasm", "Identity", { x }, {}); // []
 */
export function sharedBuffers<T extends TensorShape = TensorInfo>(
  backend: string,
  kernel: string,
  inputs: Readonly<Record<string, T | undefined>> | readonly T[],
  attributes: KernelAttributes | undefined,
): readonly SharedBuffer<T>[] {
  const rule = rulesByBackend.get(backend)?.get(kernel);
  return rule?.(inputs as Readonly<Record<string, T>>, attributes ?? {}) ?? none;
}
