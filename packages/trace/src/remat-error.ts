/**
 * What every remat package throws on bad input. The message says what happened, what was found against what was expected, and the
 * next step; `code` is stable and meant for programs.
 *
 * @example
 * try { readTrace(bytes); } catch (error) { if (error instanceof RematError && error.code === "TRACE_CORRUPT") … }
 */
export class RematError extends Error {
  override readonly name: string = "RematError";
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
