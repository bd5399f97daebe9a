export { BenchmarkCache } from "./benchmark-cache.js";
export {
  type BenchmarkOptions,
  type BenchmarkProgress,
  type BenchmarkReport,
  benchmarkTrace,
  type NotMeasured,
} from "./benchmark-trace.js";
export { describeEnvironment } from "./environment.js";
export type { Measurement } from "./measure.js";
