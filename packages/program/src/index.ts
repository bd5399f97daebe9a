export type { ExecOrder, LeaksOrder, ProgramOrder, RecordOrder } from "./program-order.js";
export { type ProgramEnd, type ProgramStart, runProgram } from "./run-program.js";
export type {
  ExecutedPasses,
  ProgramFailure,
  RecordedStep,
  ResidentBytes,
  ThreadReport,
  WatchedStep,
} from "./thread-report.js";
