import { modulePolicies } from "./module-policies.js";
import type { PlanMethod } from "./plan-method.js";

/** What to store of each module, by a mixed integer program. */
export const milpMethod: PlanMethod = modulePolicies("milp", "by a mixed integer program");
