export { type ModuleStatistics, moduleStatistics } from "./module-statistics.js";
export type {
  MethodAnswer,
  MethodOption,
  MethodPlan,
  MethodQuantity,
  MethodRequest,
  MethodTable,
  PlanMethod,
} from "./plan-method.js";
export { planMethods } from "./plan-methods.js";
