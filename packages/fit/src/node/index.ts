export { type FitInWorkersOptions, type FitProgress, fitInWorkers } from "./fit-in-workers.js";
export { type StoredSearch, storeFit } from "./fit-store.js";
export { serveUnits } from "./serve-units.js";
export { UnitCache } from "./unit-cache.js";
