import type { Variable } from "@tensorflow/tfjs-core";

const isVariable = (value: unknown): value is Variable =>
  value !== null && typeof value === "object" && "assign" in value && "dataId" in value;

/**
 * The variables in which an optimizer keeps its state: momenta, moments, accumulators, powers of its rates. tfjs keeps them in fields of the
 * optimizer, by themselves or in lists of `{ originalName, variable }`.
 *
 * @example
 * const adam = tf.train.adam(0.01);
 * adam.minimize(loss);
 * optimizerSlots(adam).length; // two for each weight, and two
 */
export function optimizerSlots(optimizer: object): Variable[] {
  const slots: Variable[] = [];
  for (const value of Object.values(optimizer)) {
    if (isVariable(value)) slots.push(value);
    else if (Array.isArray(value))
      for (const item of value) {
        const slot = (item as { variable?: unknown } | null)?.variable ?? item;
        if (isVariable(slot)) slots.push(slot);
      }
  }
  return slots.filter((slot) => !slot.isDisposed);
}
