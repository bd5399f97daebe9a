export { fewestRanksOf } from "./fewest-ranks.js";
export { type WaysToFitOptions, waysToFit } from "./ways-to-fit.js";
