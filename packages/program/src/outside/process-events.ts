/** What a thread is told of itself. */
export interface ProcessEvents {
  /** It ends by itself. */
  readonly exit?: () => void;
  /** Nobody has caught an error, which ends it. */
  readonly uncaughtExceptionMonitor?: (error: unknown) => void;
}

/**
 * Calls `told` before the program's own listeners hear of an event. Not by `process.on`: a program with ten listeners of its own would be warned of a leak, since ours is the
 * eleventh.
 */
export function beforeProcessEvents(told: ProcessEvents): void {
  const { emit } = process;
  process.emit = function (this: NodeJS.Process, ...event: unknown[]) {
    if (event[0] === "exit") told.exit?.();
    else if (event[0] === "uncaughtExceptionMonitor") told.uncaughtExceptionMonitor?.(event[1]);
    return Reflect.apply(emit as (...given: unknown[]) => boolean, this, event);
  } as typeof process.emit;
}
