export { type FitInWorkersOptions, type FitProgress, fitInWorkers } from "./fit-in-workers.js";
export { serveUnits } from "./serve-units.js";
export { UnitCache } from "./unit-cache.js";
