export {
  type PlannedSharding,
  type PlanShardingAnswer,
  type PlanShardingOptions,
  planSharding,
  type RankStep,
} from "./plan-sharding.js";
