export {
  accountOfFailure,
  type FailureAccount,
  type FailureRemedy,
  type HeldByLine,
} from "./account-of-failure.js";
export {
  type AllocatorBin,
  type AllocatorKind,
  type AllocatorLog,
  type AllocatorVerdict,
  allocatorLog,
  type ChunksOfSize,
  type CompiledProgram,
  type DeviceProcess,
  type MemoryKind,
  type ProgramBuffer,
} from "./allocator-log.js";
export { judgeAllocatorLog } from "./judge-allocator-log.js";
export { readAllocatorLog, readAllocatorLogs } from "./read-allocator-log.js";
export { type MemoryError, readMemoryError } from "./read-memory-error.js";
export { type StoragesOfSize, storagesOfChunks } from "./storages-of-chunks.js";
export { type TensorsOfRequest, tensorsOfRequest } from "./tensors-of-request.js";
