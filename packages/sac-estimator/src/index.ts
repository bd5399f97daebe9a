export { type EstimateContext, SACEstimator, type SACEstimatorOptions } from "./sac-estimator.js";
export { saveTradeoffGraphs } from "./save-tradeoff-graphs.js";
