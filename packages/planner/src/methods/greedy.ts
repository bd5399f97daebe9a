import { modulePolicies } from "./module-policies.js";
import type { PlanMethod } from "./plan-method.js";

/** Chooses the results to store in each module. Results with the longest runtime per byte come first. */
export const greedyMethod: PlanMethod = modulePolicies("greedy", "highest recomputation time per byte first");
