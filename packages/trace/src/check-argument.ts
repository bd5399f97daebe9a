import { RematError } from "./remat-error.js";

/**
 * Refuses what a public function was called with.
 *
 * @param name as the caller knows it: `memoryOf's option 'limit'`
 * @param expected ends with an example, which is the next step
 * @throws RematError `ARGUMENT`
 * @example
 * checkArgument(typeof step === "function", "record's step", step, "a function that takes one, such as () => model.trainOnBatch(x, y)");
 */
export function checkArgument(isRight: boolean, name: string, found: unknown, expected: string): asserts isRight {
  if (!isRight) throw new RematError("ARGUMENT", `${name}: expected ${expected}; found ${describeValue(found)}.`);
}

/** By option: whether its value is right, and what is expected. */
export type OptionChecks = Readonly<Record<string, readonly [isRight: (value: unknown) => boolean, expected: string]>>;

/**
 * Refuses an argument of options that is no object, and options in it that are not as expected; those that are left out are right.
 *
 * @throws RematError `ARGUMENT`
 */
export function checkCallOptions(call: string, options: unknown, checks: OptionChecks): void {
  const example = Object.keys(checks)[0];
  checkArgument(isPlainObject(options), `${call}'s options`, options, `an object, such as { ${example}: … }`);
  for (const [option, [isRight, expected]] of Object.entries(checks)) {
    const value = options[option];
    checkArgument(value === undefined || isRight(value), `${call}'s option '${option}'`, value, expected);
  }
}

/**
 * Refuses options of names that a call does not know, as {@link checkCallOptions} refuses values: a name that is spelled wrong would be as if it were left out.
 *
 * @throws RematError `ARGUMENT`
 */
export function checkOptionNames(call: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const names = known.length === 1 ? known[0] : `${known.slice(0, -1).join(", ")} or ${known.at(-1)}`;
  throw new RematError("ARGUMENT", `${call}'s options: expected none but ${names}; found ${describeValue(unknown)}.`);
}

/** Tells whether a value is a whole number from `least` up. */
export const isWholeFrom =
  (least: number) =>
  (value: unknown): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least;

/** Tells whether a value is a time in milliseconds. */
export const isTimeMs = (value: unknown): boolean =>
  typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;

/** Tells whether a value is a text. */
export const isText = (value: unknown): boolean => typeof value === "string";
/** Tells whether a value is true or false. */
export const isFlag = (value: unknown): boolean => typeof value === "boolean";

/** Tells whether a value is an object, not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Tells whether a value is an object that is written as one: none of a class, such as a tensor or a promise. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm has another `Object.prototype`, which has no prototype either.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns a value for an error message: whatever it is, since JavaScript passes anything. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length <= 40 ? value : `${value.slice(0, 37)}…`);
    case "bigint":
      return `${value}n`;
    case "symbol":
    case "function":
      return `a ${typeof value}`;
    case "object":
      if (value === null) return "null";
      if (value instanceof Promise) return "a promise, which is to be awaited";
      return jsonOf(value) ?? (Array.isArray(value) ? "a list" : `an object${classOf(value)}`);
    default:
      return String(value);
  }
}

/** Of a list or a plain object, if it is short. */
function jsonOf(value: object): string | undefined {
  if (classOf(value) !== "" && !Array.isArray(value)) return undefined;
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text !== undefined && text.length <= 40 ? text : undefined;
  } catch {
    // It may hold itself, or what JSON has not.
    return undefined;
  }
}

function classOf(value: object): string {
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: unknown } | null;
  const made = prototype?.constructor;
  return typeof made === "function" && made !== Object && typeof made.name === "string" && made.name !== ""
    ? ` of ${made.name}`
    : "";
}
