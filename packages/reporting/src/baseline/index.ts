export {
  type ChangedPart,
  type CheckedStep,
  checkMemory,
  type MemoryCheck,
  type PeakLimit,
} from "./check-memory.js";
export {
  type BaselineStep,
  baselineStep,
  type MemoryBaseline,
  readMemoryBaseline,
  writeMemoryBaseline,
} from "./memory-baseline.js";
