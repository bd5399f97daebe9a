import type { ErrorCode } from "./error-reference.js";

/** The property with the kind of an error class, shared by all copies of the packages in a process. */
const kind: symbol = Symbol.for("remat.error");

/**
 * Gives a class of errors a kind, so that `instanceof` also recognizes errors from another copy of its package.
 *
 * @example
 * class BudgetError extends RematError { static { setErrorKind(this, "BudgetError"); } }
 */
export function setErrorKind(errorClass: object, name: string): void {
  Object.defineProperty(errorClass, kind, { value: name });
}

/**
 * The error that every remat package throws on bad input. The message states what happened, what was found, what was
 * expected, and what to do next. `code` is stable and meant for programs. `instanceof` compares kinds, so it also works
 * for errors from another copy of the package.
 *
 * @example
 * try { readTrace(bytes); } catch (error) { if (error instanceof RematError && error.code === "TRACE_CORRUPT") … }
 */
export class RematError extends Error {
  /** The kind of the error's class, such as `BudgetError`. */
  override readonly name: string;
  /** A stable code for programs, such as `TRACE_CORRUPT`. */
  readonly code: ErrorCode;

  static {
    setErrorKind(this, "RematError");
  }

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = String(kindOf(new.target) ?? "RematError");
    this.code = code;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const wanted = kindOf(this);
    // A class without a kind is recognized only within its own copy of the package.
    if (wanted === undefined) return Function.prototype[Symbol.hasInstance].call(this, value);
    if (!(value instanceof Error)) return false;
    for (let object: object | null = value; object !== null; object = Object.getPrototypeOf(object) as object | null)
      if (kindOf(object.constructor) === wanted) return true;
    return false;
  }
}

/** Returns the class's own kind. An inherited kind belongs to the parent class. */
function kindOf(errorClass: unknown): unknown {
  return typeof errorClass === "function" ? Object.getOwnPropertyDescriptor(errorClass, kind)?.value : undefined;
}
