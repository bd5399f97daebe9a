export { aggregateModuleStats, type ModuleStats, type TrackedModule } from "./module-stats.js";
export { type CheckpointedModule, type ModuleTreePlan, planModules } from "./plan-modules.js";
export type { ModuleTreeOptions } from "./tree-options.js";
