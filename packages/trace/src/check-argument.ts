import { RematError } from "./remat-error.js";

/**
 * Checks an argument of a public function.
 *
 * @param isRight whether the argument is valid
 * @param name the argument's name as the caller knows it: `memoryOf's option 'limit'`
 * @param found the value that was passed
 * @param expected a description of valid values that ends with an example
 * @throws RematError `ARGUMENT`
 * @example
 * checkArgument(typeof step === "function", "record's step", step, "a function that takes one, such as () => model.trainOnBatch(x, y)");
 */
export function checkArgument(isRight: boolean, name: string, found: unknown, expected: string): asserts isRight {
  if (!isRight) throw new RematError("ARGUMENT", `${name}: expected ${expected}; found ${describeValue(found)}.`);
}

/** For each option: a check of its value, and a description of valid values. */
export type OptionChecks = Readonly<Record<string, readonly [isRight: (value: unknown) => boolean, expected: string]>>;

/**
 * Checks that an options argument is an object and that each option in it is valid. Omitted options are valid.
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
 * Checks that a call supports all options passed to it. Otherwise a misspelled option would be ignored silently.
 *
 * @throws RematError `ARGUMENT`
 */
export function checkOptionNames(call: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const names = known.length === 1 ? known[0] : `${known.slice(0, -1).join(", ")} or ${known.at(-1)}`;
  throw new RematError(
    "ARGUMENT",
    `${call}'s options: unknown option; expected ${names}, found ${describeValue(unknown)}.`,
  );
}

/** Returns a function that checks whether a value is a whole number of at least `least`. */
export const isWholeFrom =
  (least: number) =>
  (value: unknown): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least;

/** Returns whether a value is a time in milliseconds: finite and not negative. */
export const isTimeMs = (value: unknown): boolean =>
  typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;

/** Returns whether a value is a string. */
export const isText = (value: unknown): boolean => typeof value === "string";
/** Returns whether a value is a boolean. */
export const isFlag = (value: unknown): boolean => typeof value === "boolean";

/** Returns whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether a value is a plain object, and not an instance of a class such as a tensor or a promise. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm has another `Object.prototype`, whose own prototype is null as well.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Describes any JavaScript value for an error message. */
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
      if (value instanceof Promise) return "a promise, which must be awaited";
      return jsonOf(value) ?? (Array.isArray(value) ? "a list" : `an object${classOf(value)}`);
    default:
      return String(value);
  }
}

/** The JSON of a list or a plain object, if it is short. */
function jsonOf(value: object): string | undefined {
  if (classOf(value) !== "" && !Array.isArray(value)) return undefined;
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text !== undefined && text.length <= 40 ? text : undefined;
  } catch {
    // The value may be circular, or contain something that JSON cannot represent.
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
