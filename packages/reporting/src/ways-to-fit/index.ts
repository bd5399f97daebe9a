export { fewestRanksOf } from "./fewest-ranks.js";
export { largestFittingBatch } from "./largest-fitting-batch.js";
export { type WaysToFitOptions, waysToFit } from "./ways-to-fit.js";
