export {
  accountOfFailure,
  type FailureAccount,
  type FailureRemedy,
  type HeldByLine,
} from "./account-of-failure.js";
export { type MemoryError, readMemoryError } from "./read-memory-error.js";
