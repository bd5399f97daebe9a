import * as memory from "@remat/memory";
import * as memoryCheckpointing from "@remat/memory/checkpointing";
import * as memoryExtrapolation from "@remat/memory/extrapolation";
import * as memoryFailure from "@remat/memory/failure";
import * as memoryGraph from "@remat/memory/graph";
import * as growth from "@remat/memory/growth";
import * as memoryRegions from "@remat/memory/regions";
import * as memoryReserved from "@remat/memory/reserved";
import * as memorySequence from "@remat/memory/sequence";
import * as memTracker from "@remat/memory/tracker";
import * as planner from "@remat/planner";
import * as plannerExecutors from "@remat/planner/executors";
import * as plannerGraph from "@remat/planner/graph";
import * as plannerKnapsack from "@remat/planner/knapsack";
import * as plannerMethods from "@remat/planner/methods";
import * as plannerModulePolicy from "@remat/planner/module-policy";
import * as plannerModuleTree from "@remat/planner/module-tree";
import * as runtimeEstimator from "@remat/runtime-estimator";
import * as sacCore from "@remat/sac-core";
import * as fsdp from "@remat/sharding";
import * as trace from "@remat/trace";
import * as emit from "@remat/trace/emit";
import * as textTable from "@remat/trace/text";

/**
 * Packages of remat that do not depend on tfjs, so that a program may import them before it. They are one file, which
 * the agent uses as well.
 */
export const purePackages: Readonly<Record<string, object>> = {
  "@remat/trace": trace,
  "@remat/trace/emit": emit,
  "@remat/trace/text": textTable,
  "@remat/memory": memory,
  "@remat/memory/checkpointing": memoryCheckpointing,
  "@remat/memory/failure": memoryFailure,
  "@remat/memory/graph": memoryGraph,
  "@remat/memory/growth": growth,
  "@remat/memory/reserved": memoryReserved,
  "@remat/runtime-estimator": runtimeEstimator,
  "@remat/sac-core": sacCore,
  "@remat/memory/tracker": memTracker,
  "@remat/sharding": fsdp,
  "@remat/planner": planner,
  "@remat/memory/extrapolation": memoryExtrapolation,
  "@remat/memory/regions": memoryRegions,
  "@remat/memory/sequence": memorySequence,
  "@remat/planner/executors": plannerExecutors,
  "@remat/planner/graph": plannerGraph,
  "@remat/planner/knapsack": plannerKnapsack,
  "@remat/planner/methods": plannerMethods,
  "@remat/planner/module-policy": plannerModulePolicy,
  "@remat/planner/module-tree": plannerModuleTree,
};
