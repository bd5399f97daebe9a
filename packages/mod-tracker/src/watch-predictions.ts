import { type CloseMode, PatchSet } from "@remat/dispatch-hook";
import { LayersModel, Sequential } from "@tensorflow/tfjs-layers";

/** As much of a model as is patched. */
type Predicts = Readonly<Record<string, (...given: unknown[]) => unknown>>;

interface ModelClass {
  readonly prototype: object;
}

/**
 * Calls `coming` before every call of a model's `predict` or `predictOnBatch` that no other is around, until the returned function is called.
 *
 * @example
 * const close = watchPredictions(() => calls++);
 */
export function watchPredictions(coming: () => void): CloseMode {
  return watchCalls([LayersModel, Sequential], ["predict", "predictOnBatch"], coming);
}

/**
 * Does so for `predict`, `execute` and their like of converted models: of the class `GraphModel` of tfjs-converter, which is given, since nothing else here needs that package.
 *
 * @example
 * const close = watchGraphPredictions(GraphModel, () => calls++);
 */
export function watchGraphPredictions(graphModel: ModelClass, coming: () => void): CloseMode {
  return watchCalls([graphModel], ["predict", "predictAsync", "execute", "executeAsync"], coming);
}

/** Of a call that is awaited, others may begin before it is over: each is one that comes. */
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
