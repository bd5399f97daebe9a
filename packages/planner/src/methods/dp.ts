import { modulePolicies } from "./module-policies.js";
import type { PlanMethod } from "./plan-method.js";

/** What to store of each module, as a knapsack that is solved by dynamic programming. */
export const dpMethod: PlanMethod = modulePolicies("dp", "by dynamic programming", ["knapsack"]);
