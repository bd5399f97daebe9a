export {
  type DisplayOptions,
  displayModulewiseSacStats,
  displaySacStats,
  displaySacTradeoffStats,
  type ModulewiseDisplayOptions,
} from "./display.js";
export type { BrokenLine } from "./fit/least-squares.js";
export { type FittedLine, fitPiecewiseLinear } from "./fit-piecewise-linear.js";
export type { GainOptions } from "./gains-along.js";
export { greedyOrder, type MSPSColumns, opsTogether, type SACGreedyOrderMeta } from "./greedy-order.js";
export { type SACStats, type SACStatsOptions, sacStats } from "./sac-stats.js";
export { type SACTradeOffStats, type TradeOffOptions, type TradeoffCurve, tradeOff } from "./trade-off.js";
export { type TradeOffGraph, tradeOffSvg } from "./trade-off-graph.js";
