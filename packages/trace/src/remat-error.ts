/** Under which a class of errors says what it is, to all copies of the packages in a process. */
const kind: symbol = Symbol.for("remat.error");

/**
 * Makes a class of errors known by kind, so that `instanceof` holds for an error that another copy of its package made.
 *
 * @example
 * class BudgetError extends RematError { static { setErrorKind(this, "BudgetError"); } }
 */
export function setErrorKind(errorClass: object, name: string): void {
  Object.defineProperty(errorClass, kind, { value: name });
}

/**
 * What every remat package throws on bad input. The message says what happened, what was found against what was expected, and the
 * next step; `code` is stable and meant for programs. `instanceof` tells by kind, so it holds for an error that another copy of the package made.
 *
 * @example
 * try { readTrace(bytes); } catch (error) { if (error instanceof RematError && error.code === "TRACE_CORRUPT") … }
 */
export class RematError extends Error {
  /** That of its class: `BudgetError`. */
  override readonly name: string;
  readonly code: string;

  static {
    setErrorKind(this, "RematError");
  }

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = String(kindOf(new.target) ?? "RematError");
    this.code = code;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const wanted = kindOf(this);
    // A class without a kind is known in its own copy only.
    if (wanted === undefined) return Function.prototype[Symbol.hasInstance].call(this, value);
    if (!(value instanceof Error)) return false;
    for (let object: object | null = value; object !== null; object = Object.getPrototypeOf(object) as object | null)
      if (kindOf(object.constructor) === wanted) return true;
    return false;
  }
}

/** Its own; that of the class above it is another. */
function kindOf(errorClass: unknown): unknown {
  return typeof errorClass === "function" ? Object.getOwnPropertyDescriptor(errorClass, kind)?.value : undefined;
}
