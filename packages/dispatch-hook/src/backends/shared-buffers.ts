import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelAttributes } from "../kernels/index.js";
import type { Backend } from "./backend.js";
import { type BackendName, findBackend } from "./find-backend.js";
import type { SharedBuffer, TensorShape } from "./sharing-rules.js";

const none: readonly SharedBuffer<never>[] = [];

/** Returns whether the `Identity` that the engine runs to save a tensor makes a copy. */
export const savingCopies = ({ sharing }: Backend): boolean => sharing.size > 0 && !sharing.has("Identity");

/**
 * Returns the outputs of a kernel that share an input's buffer on `backend`. Such outputs may have their own `DataId`.
 * For a backend without a table, the list is empty. Source: the kernels of TensorFlow.js 4.22.0 and, for `tensorflow`,
 * those of TensorFlow 2.x. Tests compare with `ArrayBuffer`s on cpu, heap addresses on wasm and resident memory on
 * native.
 *
 * @example
 * const x = { shape: [4, 16], dtype: "float32" };
 * sharedBuffers("tensorflow", "Reshape", { x }, { shape: [64] }); // [{ output: 0, input: x }]
 * sharedBuffers("wasm", "Identity", { x }, {}); // []
 */
export function sharedBuffers<T extends TensorShape = TensorInfo>(
  backend: Backend | BackendName,
  kernel: string,
  inputs: Readonly<Record<string, T | undefined>> | readonly T[],
  attributes: KernelAttributes | undefined,
): readonly SharedBuffer<T>[] {
  const { sharing } = typeof backend === "string" ? findBackend(backend) : backend;
  return sharing.get(kernel)?.(inputs as Readonly<Record<string, T>>, attributes ?? {}) ?? none;
}
