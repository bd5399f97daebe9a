import { evictData, replayKernel } from "@remat/dispatch-hook/residency";
import { RematError } from "@remat/trace";
import { backend, type DataId } from "@tensorflow/tfjs-core";
import type { Recipe } from "./stored-data.js";

let open = 0;

/**
 * Verifies replays from now on. Each replayed kernel runs twice, and both results are compared bitwise. This finds
 * kernels that were wrongly passed to `declarePure`, and backends whose results are not repeatable. It is slow. The
 * environment variable `REMAT_VERIFY_REPLAYS=1` does the same.
 *
 * If the results differ, the pass fails with a `RematError` with code `REPLAY_DIFFERS` that names the kernel. Returns a
 * function that ends the verification.
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

/** True if `verifyReplays` is in effect. @internal */
export const isVerifying = (): boolean => open > 0;

/** True if the environment variable is set. Reading it takes longer than many a kernel. @internal */
export const isVerificationSet = (): boolean =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.["REMAT_VERIFY_REPLAYS"] ===
  "1";

/** Replays a recipe again that was just replayed into `into`, and compares the results. @internal */
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
    `${recipe.kernel} returned other values when it ran again on the same inputs, so it cannot be recomputed. ` +
      `Remove declarePure(${JSON.stringify(recipe.kernel)}); if the kernel is the backend's own, report a bug.`,
  );
}

/** Reads past the engine, so that no mode notices. Copies the bytes, since a backend may return its own array. */
function bitsOf(dataId: DataId): Uint8Array {
  const { buffer, byteOffset, byteLength } = backend().readSync(dataId) as Float32Array;
  return new Uint8Array(buffer, byteOffset, byteLength).slice();
}
