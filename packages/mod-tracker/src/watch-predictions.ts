import { type CloseMode, PatchSet } from "@remat/dispatch-hook";
import { LayersModel, Sequential } from "@tensorflow/tfjs-layers";

/** The patched part of a model. */
type Predicts = Readonly<Record<string, (...given: unknown[]) => unknown>>;

interface ModelClass {
  readonly prototype: object;
}

/**
 * Calls `coming` before every outermost call of a model's `predict` or `predictOnBatch`. Returns a function that ends
 * it.
 *
 * @example
 * const close = watchPredictions(() => calls++);
 */
export function watchPredictions(coming: () => void): CloseMode {
  return watchCalls([LayersModel, Sequential], ["predict", "predictOnBatch"], coming);
}

/**
 * Watches `predict`, `execute` and their asynchronous variants of converted models. Pass the class `GraphModel` of
 * tfjs-converter, since this package does not depend on it. Returns a function that ends it.
 *
 * @example
 * const close = watchGraphPredictions(GraphModel, () => calls++);
 */
export function watchGraphPredictions(graphModel: ModelClass, coming: () => void): CloseMode {
  return watchCalls([graphModel], ["predict", "predictAsync", "execute", "executeAsync"], coming);
}

/** While an asynchronous call is awaited, other calls may begin. Each of them counts. */
function watchCalls(classes: readonly ModelClass[], names: readonly string[], coming: () => void): CloseMode {
  const patches = new PatchSet();
  let depth = 0;
  for (const { prototype } of classes as readonly { readonly prototype: Predicts }[])
    for (const name of names) {
      if (prototype[name] === undefined) continue;
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
    }
  return () => patches.restore();
}
