export {
  type CheckedRun,
  type Extrapolation,
  extrapolateRuns,
  type VaryingSize,
} from "./extrapolate-runs.js";
export { heldByGrowth } from "./held-by-growth.js";
export { type FittingSize, largestSize } from "./largest-size.js";
export type { SizedRun } from "./match-runs.js";
