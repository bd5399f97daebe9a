import { PatchSet } from "@remat/dispatch-hook";
import { LayersModel, Sequential } from "@tensorflow/tfjs-layers";

/** As much of a model as is patched. */
type Predicts = Readonly<Record<"predict" | "predictOnBatch", (...given: unknown[]) => unknown>>;

/**
 * Calls `coming` before every call of a model's `predict` or `predictOnBatch` that no other is around, until the returned function is called.
 *
 * @example
 * const close = watchPredictions(() => calls++);
 */
export function watchPredictions(coming: () => void): () => void {
  const patches = new PatchSet();
  let depth = 0;
  for (const { prototype } of [LayersModel, Sequential] as unknown as { readonly prototype: Predicts }[])
    for (const name of ["predict", "predictOnBatch"] as const)
      patches.patch(prototype, name, (original) => {
        return function (this: Predicts, ...given: unknown[]): unknown {
          if (depth === 0) coming();
          depth++;
          try {
            return original.apply(this, given);
          } finally {
            depth--;
          }
        };
      });
  return () => patches.restore();
}
