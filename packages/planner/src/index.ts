export { recomputationBound } from "./bound/recomputation-bound.js";
export { workingSet } from "./bound/working-set.js";
export { planningGraph } from "./graph/planning-graph.js";
export { readGraphFile } from "./graph/read-graph-file.js";
export { rematerialize } from "./rematerialize.js";
export { ScheduleSearch } from "./schedule/schedule-search.js";
export { simulateSchedule } from "./schedule/simulate-schedule.js";
