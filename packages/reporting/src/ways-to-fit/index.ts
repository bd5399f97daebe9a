export { checkpointedRanks, fewestRanksOf } from "./fewest-ranks.js";
export { type BatchChoice, largestFittingBatch } from "./largest-fitting-batch.js";
export { leastHeld } from "./least-held.js";
export { type WaysToFitOptions, waysToFit } from "./ways-to-fit.js";
