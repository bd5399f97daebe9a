export { exportFitStore } from "./export-store.js";
export { type FitInWorkersOptions, type FitProgress, fitInWorkers } from "./fit-in-workers.js";
export { fitParquet } from "./fit-parquet.js";
export { checkFitStore, storeFit } from "./fit-store.js";
export { readFitStore } from "./read-store.js";
export { serveUnits } from "./serve-units.js";
export type { StoredRow, StoredSearch } from "./stored-rows.js";
export { UnitCache } from "./unit-cache.js";
export { UnitThread } from "./unit-thread.js";
