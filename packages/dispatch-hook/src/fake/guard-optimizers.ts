import { Tensor } from "@tensorflow/tfjs-core";
import { openDispatchMode } from "../index.js";
import type { Undo } from "./override.js";

type Fields = Record<string, unknown>;

/**
 * Saves the state of each optimizer before its first update in fake mode, because tensors made there are disposed of
 * afterwards. The returned function restores optimizers whose state would be gone. An optimizer in the mode's result
 * keeps its fake state. @internal
 */
export function guardOptimizers(): Undo {
  const guarded = new Map<Fields, ReadonlyMap<string, unknown>>();
  const close = openDispatchMode({
    optimizerUpdateComing(optimizer) {
      const fields = optimizer as Fields;
      if (!guarded.has(fields))
        guarded.set(fields, new Map(Object.entries(fields).map(([key, value]) => [key, copied(value)])));
    },
  });
  return () => {
    close();
    for (const [fields, before] of guarded) if (!ownsTensors(fields, before)) restore(fields, before);
  };
}

const copied = (value: unknown): unknown => (Array.isArray(value) ? [...(value as unknown[])] : value);

function restore(fields: Fields, before: ReadonlyMap<string, unknown>): void {
  for (const key of Object.keys(fields)) if (!before.has(key)) Reflect.deleteProperty(fields, key);
  for (const [key, value] of before) {
    const now = fields[key];
    if (Array.isArray(now) && Array.isArray(value)) now.splice(0, now.length, ...(value as unknown[]));
    else fields[key] = value;
  }
}

/** Returns whether fields contain living tensors that were not there before. */
function ownsTensors(fields: Fields, before: ReadonlyMap<string, unknown>): boolean {
  const had = tensorsIn([...before.values()]);
  return [...tensorsIn(Object.values(fields))].some((tensor) => !had.has(tensor) && !tensor.isDisposed);
}

/** An optimizer's slots are variables in lists, by name. */
function tensorsIn(values: readonly unknown[]): Set<Tensor> {
  const found = new Set<Tensor>();
  for (const value of values)
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const tensor =
        one instanceof Tensor ? one : (one as { readonly variable?: unknown } | null | undefined)?.variable;
      if (tensor instanceof Tensor) found.add(tensor);
    }
  return found;
}
