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
export { type GatheredSpan, summarizeUnits, type UnitSummary } from "./summarize-units.js";
