import type { Backend } from "./backend.js";
import { backends } from "./find-backend.js";

/**
 * Returns the known backends in the order of preference of TensorFlow.js.
 *
 * @example
 * bestFirst().filter(hasKnownKernels).map(({ name }) => name); // ["tensorflow", "wasm", "cpu"]
 */
export function bestFirst(): readonly Backend[] {
  return backends.toSorted((a, b) => b.priority - a.priority);
}
