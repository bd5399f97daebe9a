import { describeValue } from "./check-argument.js";
import { RematError } from "./remat-error.js";

/** An observation that does not fit what came before; the reader adds the line. @internal */
export class TraceFieldError extends RematError {
  readonly field: string;
  readonly detail: string;

  constructor(field: string, detail: string) {
    super("TRACE_FIELD", `trace field '${field}': ${detail}`);
    this.field = field;
    this.detail = detail;
  }
}

/** `value` as JSON, short enough for a message. @internal */
export function excerpt(value: unknown): string {
  const text = typeof value === "number" ? String(value) : textOf(value);
  if (text === undefined) return "nothing";
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/** JSON of lists within lists by the thousand can be read, but not written; of what is passed in a program even less. */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return "something nested too deeply to show";
    return describeValue(value);
  }
}
