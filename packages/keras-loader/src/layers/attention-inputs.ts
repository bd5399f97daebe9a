import type { LayerShape } from "./own-layer.js";

/** Which input each thing that an attention layer is called with is; left out: each its own. */
export type InputIndices = readonly number[] | undefined;

/**
 * Returns what an attention layer is called with, in order. A tensor that it is called with several times, as for self-attention, is one input:
 * tfjs-layers 4.22 counts who reads a tensor by layer, but each reading, and so frees it under the feet of those that read it later.
 */
export function spreadInputs<T>(given: T | readonly T[], indices: InputIndices): readonly T[] {
  const list = (Array.isArray(given) ? given : [given]) as readonly T[];
  return indices === undefined ? list : indices.map((i) => list[i] as T);
}

/** Returns shapes as {@link spreadInputs} does inputs; one may stand alone. */
export function spreadShapes(given: LayerShape | LayerShape[], indices: InputIndices): readonly LayerShape[] {
  const list = (Array.isArray(given[0]) ? given : [given]) as LayerShape[];
  return spreadInputs(list, indices);
}
