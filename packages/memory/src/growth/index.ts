export { findRepeat, type Repeat } from "./find-repeat.js";
export { GrowthAccumulator, type MakerGrowth } from "./growth-accumulator.js";
export { type GrowthVerdict, judgeGrowth, type SeriesGrowth, type SeriesNature } from "./judge-growth.js";
export { type OutlivingStorages, outlivingStorages, type TraceGrowth } from "./outliving-storages.js";
