import { engineInternals } from "../engine-internals.js";
import { PatchSet } from "../patch-set.js";

/**
 * Calls `check` before every kernel, with its name, and before and after JavaScript reads values. If `check` throws an
 * error, the op, `data` or `dataSync` fails with it. Returns a function that ends it.
 *
 * @example
 * const close = guardData((kernel) => { if (isLost()) throw new Error(`${kernel}: no data is left`); });
 */
export function guardData(check: (kernel: string | undefined) => void): () => void {
  const engine = engineInternals();
  const patches = new PatchSet();
  let isOpen = true;
  const guard = (kernel?: string): void => {
    if (isOpen) check(kernel);
  };
  const checked = <T>(values: T): T => {
    guard();
    return values;
  };
  patches.patch(engine, "runKernelFunc", (original) => (parameters) => {
    guard(parameters.kernelName);
    return original.call(engine, parameters);
  });
  patches.patch(engine, "read", (original) => async (dataId) => {
    guard();
    return checked(await original.call(engine, dataId));
  });
  patches.patch(engine, "readSync", (original) => (dataId) => {
    guard();
    return checked(original.call(engine, dataId));
  });
  return () => {
    isOpen = false;
    patches.restore();
  };
}
