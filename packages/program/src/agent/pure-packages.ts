import * as memory from "@remat/memory";
import * as memoryCheckpointing from "@remat/memory/checkpointing";
import * as memoryFailure from "@remat/memory/failure";
import * as memoryGraph from "@remat/memory/graph";
import * as growth from "@remat/memory/growth";
import * as memoryReserved from "@remat/memory/reserved";
import * as memTracker from "@remat/memory/tracker";
import * as planner from "@remat/planner";
import * as runtimeEstimator from "@remat/runtime-estimator";
import * as sacCore from "@remat/sac-core";
import * as fsdp from "@remat/sharding";
import * as trace from "@remat/trace";
import * as emit from "@remat/trace/emit";
import * as textTable from "@remat/trace/text";

/** Those of our packages that know no tfjs, so that a program may import them before it: one file, of which the agent takes them, too. */
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
};
