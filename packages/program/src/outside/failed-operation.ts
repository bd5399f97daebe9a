/** The kind of operation that remat attempted in the program's process or in its own. */
export type OperationKind = "write" | "read" | "load";

/** An operation of remat that failed while the program kept running. */
export interface FailedOperation {
  readonly doing: OperationKind;
  readonly path: string;
  /** The system's error code: `ENOSPC`. */
  readonly code: string;
  readonly message: string;
}

/**
 * Returns the code and message of a system error.
 *
 * @internal
 */
export function saidBy(error: unknown): Pick<FailedOperation, "code" | "message"> {
  const { code, message } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return { code: code ?? "ERROR", message: message ?? String(error) };
}

/**
 * Name of an empty file in the program's folder. A thread that can write nothing else links to it under a name that
 * describes the failure.
 *
 * @internal
 */
export const lossMarkName = "lost";
/**
 * Signal to the runner from a thread that cannot even create that link.
 *
 * @internal
 */
export const lossSignal = "SIGURG";
