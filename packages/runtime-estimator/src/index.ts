export type { OpCall, OpCost, TensorType } from "./op-call.js";
export { bytesOf, flopsOf, opCost } from "./op-cost.js";
export { priceTrace } from "./price-trace.js";
export { rooflineMs } from "./roofline.js";
