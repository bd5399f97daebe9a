export { type ModulePolicy, type ModulePolicyOptions, planModule } from "./plan-module.js";
export type { ModuleBudget, ModulePolicyMethod } from "./policy-input.js";
