import type { LayerShape } from "./own-layer.js";

/** Index of the input for each argument of an attention layer. Undefined if each argument is its own input. */
export type InputIndices = readonly number[] | undefined;

/**
 * Returns the arguments of an attention layer in order. A tensor passed several times, as for self-attention, is one
 * input here. tfjs-layers 4.22 counts the readers of a tensor per layer but releases it per reading, so it would
 * dispose of the tensor too early.
 */
export function spreadInputs<T>(given: T | readonly T[], indices: InputIndices): readonly T[] {
  const list = (Array.isArray(given) ? given : [given]) as readonly T[];
  return indices === undefined ? list : indices.map((i) => list[i] as T);
}

/** Returns shapes in the same way as {@link spreadInputs}. A single shape need not be in a list. */
export function spreadShapes(given: LayerShape | LayerShape[], indices: InputIndices): readonly LayerShape[] {
  const list = (Array.isArray(given[0]) ? given : [given]) as LayerShape[];
  return spreadInputs(list, indices);
}
