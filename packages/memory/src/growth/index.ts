export { findRepeat } from "./find-repeat.js";
export { GrowthAccumulator, type MakerGrowth } from "./growth-accumulator.js";
export { type GrowthVerdict, judgeGrowth, type SeriesGrowth } from "./judge-growth.js";
