import { RematError } from "@remat/trace";

/** The command line is wrong: exit code 2. */
export class UsageError extends RematError {
  override readonly name = "UsageError";

  constructor(message: string) {
    super("USAGE", message);
  }
}

/** Parses a whole number from `min` to `max` from an option's value. */
export function parseCount(option: string, value: unknown, min = 1, max: number = Number.MAX_SAFE_INTEGER): number {
  const number = typeof value === "number" ? value : Number(String(value));
  if (!Number.isSafeInteger(number) || number < min || number > max || value === "" || typeof value === "boolean")
    throw new UsageError(
      `--${option} expects a whole number of ${max < Number.MAX_SAFE_INTEGER ? `${min} to ${max}` : `at least ${min}`}; found ${quote(value)}.`,
    );
  return number;
}

/** Parses one of `allowed` from an option's value. */
export function parseChoice<T extends string>(option: string, value: unknown, allowed: readonly T[]): T {
  if (!allowed.includes(value as T))
    throw new UsageError(`--${option} expects one of ${allowed.join(", ")}; found ${quote(value)}.`);
  return value as T;
}

/** Returns an option's text. An option given twice or without a value is rejected. */
export function parseText(option: string, value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value !== "string" || value === "")
    throw new UsageError(`--${option} expects a value; found ${quote(value)}.`);
  return value;
}

export function quote(value: unknown): string {
  return typeof value === "boolean" || value === undefined ? "nothing" : JSON.stringify(value);
}
