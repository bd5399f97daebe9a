export { type EngineBackend, type EngineInternals, engineInternals } from "../engine-internals.js";
export { replacementOf } from "../gradients/replacement-of.js";
export { runningModule } from "../module-namer.js";
export type { SelfReportingBackend } from "../storage-table.js";
