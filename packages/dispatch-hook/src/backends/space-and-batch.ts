import { type Infer, type InferTable, type X } from "../kernels/index.js";
import { plainRule } from "../kernels/plain-rule.js";

/** Transposes all of x. The result is a slice of that. */
const batchToSpace: Infer<X> = (inputs, attributes, call) => {
  const transposed = call.make(inputs.x.shape, inputs.x.dtype);
  const out = plainRule("BatchToSpaceND")(inputs, attributes, call);
  call.release(transposed);
  return out;
};

/** Pads first. The result is the transposed padded copy. */
const spaceToBatch: Infer<X, { paddings: [number, number][] }> = (inputs, attributes, call) => {
  const paddings: [number, number][] = [[0, 0], ...attributes.paddings];
  while (paddings.length < inputs.x.shape.length) paddings.push([0, 0]);
  const padded = call.run("PadV2", inputs, { paddings });
  const out = plainRule("SpaceToBatchND")(inputs, attributes, call);
  call.release(padded);
  return out;
};

/** Rules for cpu and wasm. */
export const spaceAndBatch: InferTable = { BatchToSpaceND: batchToSpace, SpaceToBatchND: spaceToBatch };
