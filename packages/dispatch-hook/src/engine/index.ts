export {
  type EngineBackend,
  type EngineInternals,
  engineInternals,
  type KernelParameters,
} from "../engine-internals.js";
export type { SelfReportingBackend } from "../storage-table.js";
