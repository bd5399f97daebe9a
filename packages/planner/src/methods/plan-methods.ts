import { dpMethod } from "./dp.js";
import { greedyMethod } from "./greedy.js";
import { milpMethod } from "./milp.js";
import { modulesMethod } from "./modules.js";
import type { PlanMethod } from "./plan-method.js";
import { rulesMethod } from "./rules.js";
import { scheduleMethod } from "./schedule.js";

/** All planning methods, beginning with the default. To add one, add its file and a line here. */
export const planMethods: readonly PlanMethod[] = [
  scheduleMethod,
  modulesMethod,
  dpMethod,
  milpMethod,
  greedyMethod,
  rulesMethod,
];
