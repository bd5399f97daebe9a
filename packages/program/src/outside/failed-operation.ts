/** What remat was doing in the program's process, or in its own. */
export type OperationKind = "write" | "read" | "load";

/** An operation of remat's that failed while the program went on. */
export interface FailedOperation {
  readonly doing: OperationKind;
  readonly path: string;
  /** As the system calls it: `ENOSPC`. */
  readonly code: string;
  readonly message: string;
}

/** Returns what an error of the system says. @internal */
export function saidBy(error: unknown): Pick<FailedOperation, "code" | "message"> {
  const { code, message } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return { code: code ?? "ERROR", message: message ?? String(error) };
}

/** Name of an empty file in the program's folder. A thread that can write nothing else links to it, under a name that says what failed. @internal */
export const lossMarkName = "lost";
/** Sent to the runner by a thread that cannot even do that. @internal */
export const lossSignal = "SIGURG";
