import { excerpt, TraceFieldError } from "./trace-field-error.js";

/**
 * The kinds of memory that can run out:
 *
 * - `kernel`: the allocator of a backend's kernels
 * - `array`: the allocator of JavaScript's typed arrays
 * - `wasm`: WebAssembly's memory
 * - `heap`: V8's heap reached its limit
 * - `system`: the operating system ended the process
 */
export const failureCauses = ["kernel", "array", "wasm", "heap", "system"] as const;
/** The kind of memory that ran out. */
export type FailureCause = (typeof failureCauses)[number];

/** How a recorded run ran out of memory in the middle of a step. The op that failed is not an op of the trace. */
export interface MemoryFailure {
  /** The kind of memory that ran out. */
  readonly cause: FailureCause;
  /** The error message, in one line. */
  readonly message?: string;
  /** The size of the largest single memory request, in bytes, if known. */
  readonly askedBytes?: number;
  /** The kernel that was running. */
  readonly op?: string;
  /** The user's source line that was running, as `file:line:column`. */
  readonly line?: string;
  /** The number of steps completed before the failure. */
  readonly stepsBefore?: number;
  /** Growth of the memory in use per step, in bytes, or 0 if it did not grow. Left out if there were too few steps. */
  readonly bytesPerStep?: number;
  /** The command line of the program. */
  readonly program?: readonly string[];
}

const kinds = {
  message: "string",
  askedBytes: "number",
  op: "string",
  line: "string",
  stepsBefore: "number",
  bytesPerStep: "number",
} as const satisfies Partial<Record<keyof MemoryFailure, "string" | "number">>;

/**
 * Checks the `failure` field of a header.
 *
 * @throws TraceFieldError
 * @internal
 */
export function checkFailure(value: unknown): asserts value is MemoryFailure {
  const wrong = (expected: string): TraceFieldError =>
    new TraceFieldError("failure", `${expected}, found ${excerpt(value)}`);
  if (typeof value !== "object" || value === null) throw wrong("expected an object");
  const failure = value as Readonly<Record<string, unknown>>;
  if (!(failureCauses as readonly unknown[]).includes(failure["cause"]))
    throw wrong(`expected a cause, one of ${failureCauses.join(", ")}`);
  for (const [field, kind] of Object.entries(kinds)) {
    const found = failure[field];
    if (found !== undefined && (typeof found !== kind || (typeof found === "number" && !(found >= 0))))
      throw wrong(`expected ${field} to be a ${kind}${kind === "number" ? " of 0 or more" : ""}`);
  }
  const { program } = failure;
  if (program !== undefined && !(Array.isArray(program) && program.every((word) => typeof word === "string")))
    throw wrong("expected program to be a list of words");
}
