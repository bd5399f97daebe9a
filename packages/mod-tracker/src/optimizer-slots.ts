import type { Tensor } from "@tensorflow/tfjs-core";

const isTensor = (value: unknown): value is Tensor =>
  value !== null && typeof value === "object" && "dataId" in value && "isDisposed" in value;

/**
 * Returns the tensors of an optimizer's state: momenta, moments, accumulators, powers of its rates, and rates stored as
 * scalars. TensorFlow.js keeps them in fields of the optimizer, alone or in lists of `{ originalName, variable }`.
 *
 * @example
 * const adam = tf.train.adam(0.01);
 * adam.minimize(loss);
 * optimizerSlots(adam).length; // two for each weight, and two
 */
export function optimizerSlots(optimizer: object): Tensor[] {
  const slots: Tensor[] = [];
  for (const value of Object.values(optimizer)) {
    if (isTensor(value)) slots.push(value);
    else if (Array.isArray(value))
      for (const item of value) {
        const slot = (item as { variable?: unknown } | null)?.variable ?? item;
        if (isTensor(slot)) slots.push(slot);
      }
  }
  return slots.filter((slot) => !slot.isDisposed);
}
