export type { EstimateBackend, EstimateContext } from "./record-run.js";
export { SACEstimator, type SACEstimatorOptions } from "./sac-estimator.js";
export { saveTradeoffGraphs } from "./save-tradeoff-graphs.js";
