import { modulePolicies } from "./module-policies.js";
import type { PlanMethod } from "./plan-method.js";

/** What to store of each module, dearest by the byte first. */
export const greedyMethod: PlanMethod = modulePolicies("greedy", "dearest by the byte first");
