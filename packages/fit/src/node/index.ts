export { type FitInWorkersOptions, type FitProgress, fitInWorkers } from "./fit-in-workers.js";
export { fitParquet } from "./fit-parquet.js";
export { storeFit } from "./fit-store.js";
export { serveUnits } from "./serve-units.js";
export type { StoredSearch } from "./stored-rows.js";
export { UnitCache } from "./unit-cache.js";
export { UnitThread } from "./unit-thread.js";
