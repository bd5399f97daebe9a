import { checkFailure } from "./memory-failure.js";
import { list, number, type TraceRecord, text } from "./record-fields.js";
import type { CheckpointingTimes, FasterGradients, TraceHeader } from "./trace.js";
import { excerpt, TraceFieldError } from "./trace-field-error.js";

/**
 * Reads the first record of a trace. Fields that this version does not know are kept.
 *
 * @throws TraceFieldError with the name of the invalid field
 * @internal
 */
export function readHeader(r: TraceRecord): TraceHeader {
  text(r, "framework");
  text(r, "device");
  for (const field of ["frameworkVersion", "backend", "model"]) if (r[field] !== undefined) text(r, field);
  if (r["mode"] !== "fake" && r["mode"] !== "real")
    throw new TraceFieldError("mode", `expected "fake" or "real", found ${excerpt(r["mode"])}`);
  if (!(number(r, "allocationUnitBytes") >= 1))
    throw new TraceFieldError("allocationUnitBytes", `expected at least 1, found ${excerpt(r["allocationUnitBytes"])}`);
  if (r["deviceMemoryBytes"] !== undefined && !(number(r, "deviceMemoryBytes") >= 1))
    throw new TraceFieldError("deviceMemoryBytes", `expected at least 1, found ${excerpt(r["deviceMemoryBytes"])}`);
  if (r["fasterGradients"] !== undefined && !isFasterGradients(r["fasterGradients"]))
    throw new TraceFieldError(
      "fasterGradients",
      `expected "equal" or "reordered", found ${excerpt(r["fasterGradients"])}`,
    );
  if (r["hostMs"] !== undefined && !(number(r, "hostMs") >= 0))
    throw new TraceFieldError("hostMs", `expected at least 0, found ${excerpt(r["hostMs"])}`);
  if (r["checkpointingMs"] !== undefined && !isCheckpointingTimes(r["checkpointingMs"]))
    throw new TraceFieldError(
      "checkpointingMs",
      `expected ${checkpointingTimesWanted}, found ${excerpt(r["checkpointingMs"])}`,
    );
  if (r["moduleCount"] !== undefined && !(Number.isInteger(r["moduleCount"]) && number(r, "moduleCount") >= 1))
    throw new TraceFieldError("moduleCount", `expected an integer of at least 1, found ${excerpt(r["moduleCount"])}`);
  const libraries = r["libraries"] === undefined ? {} : r["libraries"];
  if (
    typeof libraries !== "object" ||
    libraries === null ||
    Array.isArray(libraries) ||
    !Object.values(libraries).every(isText)
  )
    throw new TraceFieldError("libraries", `expected versions by package name, found ${excerpt(libraries)}`);
  if (r["notes"] !== undefined && !list(r, "notes").every(isText))
    throw new TraceFieldError("notes", `expected sentences, found ${excerpt(r["notes"])}`);
  if (r["failure"] !== undefined) checkFailure(r["failure"]);
  if (r["allocator"] !== undefined && !isAllocator(r["allocator"]))
    throw new TraceFieldError("allocator", `expected settings and reservedPeakBytes, found ${excerpt(r["allocator"])}`);
  const { remat: _, version: __, ...header } = r;
  return header as unknown as TraceHeader;
}

/** Returns whether a value is one of the kinds of {@link FasterGradients}. @internal */
export const isFasterGradients = (value: unknown): value is FasterGradients =>
  value === "equal" || value === "reordered";

const checkpointingTimes = [
  "frame",
  "selective",
  "save",
  "dispatch",
  "count",
  "rerun",
] as const satisfies readonly (keyof CheckpointingTimes)[];

/** Names of the expected fields of {@link CheckpointingTimes}, for error messages. @internal */
export const checkpointingTimesWanted: string = `milliseconds of ${checkpointingTimes.join(", ")}`;

/** Returns whether a value is a valid {@link CheckpointingTimes}. @internal */
export function isCheckpointingTimes(value: unknown): value is CheckpointingTimes {
  const times = Object(value) as Readonly<Record<string, unknown>>;
  return checkpointingTimes.every((name) => typeof times[name] === "number" && times[name] >= 0);
}

function isAllocator(value: unknown): boolean {
  const { settings, reservedPeakBytes } = Object(value) as Readonly<Record<string, unknown>>;
  return typeof settings === "string" && typeof reservedPeakBytes === "number" && reservedPeakBytes >= 0;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
