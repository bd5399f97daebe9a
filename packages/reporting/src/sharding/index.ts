export {
  type CompareShardingsOptions,
  compareShardings,
  type NamedSharding,
  receivedBytes,
  type ShardedParameters,
  type ShardingComparison,
  type ShardingOutcome,
  type StepTime,
  shardingOutcome,
} from "./compare-shardings.js";
export { describeRise } from "./describe-rise.js";
export { shardingsDocument } from "./shardings-document.js";
export { type GatheredSpan, summarizeUnits, type UnitSummary } from "./summarize-units.js";
export { unitsDocument } from "./units-document.js";
