import { modulePolicies } from "./module-policies.js";
import type { PlanMethod } from "./plan-method.js";

/** Chooses the results to store in each module with a mixed-integer program. */
export const milpMethod: PlanMethod = modulePolicies("milp", "by a mixed integer program");
