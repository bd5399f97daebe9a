export {
  type PlanningGraph,
  type PlanningNode,
  planningGraph,
  type TransferCosts,
  withLink,
} from "./planning-graph.js";
export {
  type PlanningGraphOfTraceOptions,
  planningGraphOfTrace,
  type TracePlanningGraph,
} from "./planning-graph-of-trace.js";
export { readGraphFile } from "./read-graph-file.js";
