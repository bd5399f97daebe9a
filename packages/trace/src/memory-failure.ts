import { excerpt, TraceFieldError } from "./trace-field-error.js";

/**
 * What had no memory left: `kernel`, the allocator of a backend's kernels; `array`, that of JavaScript's typed arrays; `wasm`, WebAssembly's memory; `heap`,
 * V8's heap, at its limit; `system`, the system, which ended the process.
 */
export const failureCauses = ["kernel", "array", "wasm", "heap", "system"] as const;
/** The name of what had no memory left. */
export type FailureCause = (typeof failureCauses)[number];

/** How a recorded run ended for lack of memory, in the midst of a step. What ran then is no op of the trace. */
export interface MemoryFailure {
  readonly cause: FailureCause;
  /** What was said, in one line. */
  readonly message?: string;
  /** The most that was asked for at once, where that is known. */
  readonly askedBytes?: number;
  /** The kernel that ran, and the user's source line, as `file:line:column`. */
  readonly op?: string;
  readonly line?: string;
  /** How many steps had ended before. */
  readonly stepsBefore?: number;
  /** By how much what was held at their ends grew with each, 0 where it did not; left out: they are too few to say. */
  readonly bytesPerStep?: number;
  /** The program as it was started. */
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
 * Checks what a header says under `failure`.
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
