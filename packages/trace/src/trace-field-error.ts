import { describeValue } from "./check-argument.js";
import { RematError } from "./remat-error.js";

/** An observation that is inconsistent with the previous ones. The reader adds the line. @internal */
export class TraceFieldError extends RematError {
  readonly field: string;
  readonly detail: string;

  constructor(field: string, detail: string) {
    super("TRACE_FIELD", `trace field '${field}': ${detail}`);
    this.field = field;
    this.detail = detail;
  }
}

/** Returns `value` as JSON, shortened for a message. @internal */
export function excerpt(value: unknown): string {
  const text = typeof value === "number" ? String(value) : textOf(value);
  if (text === undefined) return "nothing";
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/**
 * Returns a value as text. Two kinds of values cannot be written as JSON: lists nested thousands of levels deep, and
 * some values passed by a program.
 */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return "something nested too deeply to show";
    return describeValue(value);
  }
}
