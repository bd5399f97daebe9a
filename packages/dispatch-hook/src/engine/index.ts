export { type EngineBackend, type EngineInternals, engineInternals } from "../engine-internals.js";
export type { SelfReportingBackend } from "../storage-table.js";
