import { modulePolicies } from "./module-policies.js";
import type { PlanMethod } from "./plan-method.js";

/** Chooses the results to store in each module, as a knapsack solved by dynamic programming. */
export const dpMethod: PlanMethod = modulePolicies("dp", "by dynamic programming", ["knapsack"]);
