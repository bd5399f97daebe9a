/** Events of the current thread. */
export interface ProcessEvents {
  /** The thread ends normally. */
  readonly exit?: () => void;
  /** An uncaught error ends the thread. */
  readonly uncaughtExceptionMonitor?: (error: unknown) => void;
}

/**
 * Calls `told` before the program's own listeners. `process.on` is not used, because a program with ten listeners of
 * its own would get a leak warning for the eleventh.
 */
export function beforeProcessEvents(told: ProcessEvents): void {
  const { emit } = process;
  process.emit = function (this: NodeJS.Process, ...event: unknown[]) {
    if (event[0] === "exit") told.exit?.();
    else if (event[0] === "uncaughtExceptionMonitor") told.uncaughtExceptionMonitor?.(event[1]);
    return Reflect.apply(emit as (...given: unknown[]) => boolean, this, event);
  } as typeof process.emit;
}
