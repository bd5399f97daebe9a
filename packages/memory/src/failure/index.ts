export {
  accountOfFailure,
  type FailureAccount,
  type FailureRemedy,
  type HeldByLine,
} from "./account-of-failure.js";
export type { AllocatorBin, AllocatorLog, ChunksOfSize } from "./allocator-log.js";
export {
  type AllocatorVerdict,
  judgeAllocatorLog,
  readAllocatorLog,
  type StoragesOfSize,
  storagesOfChunks,
} from "./explain-allocator-log.js";
export { type MemoryError, readMemoryError } from "./read-memory-error.js";
