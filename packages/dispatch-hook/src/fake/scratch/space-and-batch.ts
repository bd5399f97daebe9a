import type { Infer, InferTable, X } from "../kernels/infer.js";
import { plainRule } from "./plain-rule.js";

/** Transposes all of x, of which the result is a slice. */
const batchToSpace: Infer<X> = (inputs, attributes, backend) => {
  const transposed = backend.make(inputs.x.shape, inputs.x.dtype);
  const out = plainRule("BatchToSpaceND")(inputs, attributes, backend);
  backend.release(transposed);
  return out;
};

/** Pads first; the result is the padded copy transposed. */
const spaceToBatch: Infer<X, { paddings: [number, number][] }> = (inputs, attributes, backend) => {
  const paddings: [number, number][] = [[0, 0], ...attributes.paddings];
  while (paddings.length < inputs.x.shape.length) paddings.push([0, 0]);
  const padded = backend.run("PadV2", inputs, { paddings });
  const out = plainRule("SpaceToBatchND")(inputs, attributes, backend);
  backend.release(padded);
  return out;
};

/** The same on cpu and wasm. */
export const spaceAndBatch: InferTable = { BatchToSpaceND: batchToSpace, SpaceToBatchND: spaceToBatch };
