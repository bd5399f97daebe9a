import { evictData, replayKernel } from "@remat/dispatch-hook/residency";
import { RematError } from "@remat/trace";
import { backend, type DataId } from "@tensorflow/tfjs-core";
import type { Recipe } from "./stored-data.js";

let open = 0;

/**
 * Verifies replays: from here on each kernel that is replayed runs twice, and the bits of both results are compared: to find a kernel that is not what it was declared to
 * be, or a backend that is not repeatable. Slow. `REMAT_VERIFY_REPLAYS=1` in the environment does the same. Returns what ends it.
 *
 * The pass throws `RematError` `REPLAY_DIFFERS`, naming the kernel, where they differ.
 *
 * @example
 * const stop = verifyReplays();
 * withMemoryBudget("60%", () => model.trainOnBatch(x, y));
 * stop();
 */
export function verifyReplays(): () => void {
  let isOpen = true;
  open++;
  return () => {
    if (isOpen) open--;
    isOpen = false;
  };
}

/** @internal */
export const isVerifying = (): boolean =>
  open > 0 ||
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.["REMAT_VERIFY_REPLAYS"] ===
    "1";

/**
 * Replays once more a recipe that has just been replayed into `into`, and compares.
 *
 * @internal
 */
export function verifyReplay(recipe: Recipe, into: readonly (DataId | undefined)[]): void {
  const made = into.filter((dataId) => dataId !== undefined);
  const before = made.map(bitsOf);
  evictData(made);
  replayKernel(recipe, into);
  const differs = made.findIndex((dataId, i) => {
    const bits = bitsOf(dataId);
    return bits.length !== before[i].length || bits.some((byte, at) => byte !== before[i][at]);
  });
  if (differs < 0) return;
  throw new RematError(
    "REPLAY_DIFFERS",
    `${recipe.kernel} gave other values when it was replayed on the same inputs, so what it makes cannot be recomputed. Take back declarePure(${JSON.stringify(recipe.kernel)}), or, if the kernel is the backend's own, report it.`,
  );
}

/** Read past the engine, which would tell everybody; copied, since a backend may hand out what it holds. */
function bitsOf(dataId: DataId): Uint8Array {
  const { buffer, byteOffset, byteLength } = backend().readSync(dataId) as Float32Array;
  return new Uint8Array(buffer, byteOffset, byteLength).slice();
}
