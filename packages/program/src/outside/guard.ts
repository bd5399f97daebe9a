import type { DispatchMode, GradientsCall, RunGradients, UpdateCall } from "@remat/dispatch-hook";
import type { RematError } from "@remat/trace";

/** Methods that notify a mode and return nothing. */
const told = [
  "updateAfterBackward",
  "backendChanging",
  "opened",
  "closing",
  "closed",
  "opComing",
  "dataComing",
  "opStarting",
  "opDone",
  "opOver",
  "kernelOver",
  "blockEntered",
  "blockExited",
  "recomputationStarting",
  "recomputationOver",
  "opFailed",
  "storageAllocated",
  "storageReleased",
  "storageResized",
  "dataUnused",
  "scopeEntered",
  "scopeExited",
  "tensorsSaved",
  "tapeNodeAdded",
  "passFailed",
  "phaseChanged",
  "backwardNodeEntered",
  "backwardNodeExited",
  "gradientsDone",
  "variableAssigned",
  "optimizerUpdateComing",
  "optimizerStepDone",
  "tensorRead",
] as const satisfies readonly (keyof DispatchMode)[];

/** A mode that only observes. */
export type Observer = Omit<DispatchMode, "dispatch" | "valuesRead">;

/** Runs observers so that their errors never reach the program. After the first error, observation stops. */
export class Guard {
  private readonly broke: (error: unknown) => void;
  private isBroken = false;

  /** @param broke called with the first error, to close the observers */
  constructor(broke: (error: unknown) => void) {
    this.broke = broke;
  }

  /** Returns the result of `observe`. If it throws, returns undefined, and also on every later call. */
  run<T>(observe: () => T): T | undefined {
    if (this.isBroken) return undefined;
    try {
      return observe();
    } catch (error) {
      this.break(error);
      return undefined;
    }
  }

  /** Wraps a callback. */
  wrap<A extends readonly unknown[]>(observe: (...args: A) => unknown): (...args: A) => void {
    return (...args) => void this.run(() => observe(...args));
  }

  /**
   * Guards the methods of an observer in place. Errors of the passes and updates that it surrounds still reach the
   * program. If the engine can no longer be watched, the observer is closed and the program continues.
   */
  mode<M extends Observer>(mode: M): M {
    for (const name of told) {
      const method = mode[name] as ((...args: unknown[]) => void) | undefined;
      if (method !== undefined) put(mode, name, this.wrap(method.bind(mode)));
    }
    put(mode, "cannotWatch", (problem: RematError) => this.break(problem));
    const gradients = mode.gradients?.bind(mode);
    if (gradients !== undefined)
      put(mode, "gradients", (call: GradientsCall, next: RunGradients) =>
        this.around("a forward and backward pass", next, (watched) => gradients(call, watched)),
      );
    const applyGradients = mode.applyGradients?.bind(mode);
    if (applyGradients !== undefined)
      put(mode, "applyGradients", (call: UpdateCall, next: () => void) =>
        this.around("an update of the weights", next, (watched) => applyGradients(call, watched)),
      );
    return mode;
  }

  /** Calls `observe` with a function that runs `next`. `next` runs even if `observe` fails. */
  private around<R>(what: string, next: () => R, observe: (watched: () => R) => R): R {
    if (this.isBroken) return next();
    let ran: { readonly result: R } | undefined;
    let isProgramsError = false;
    const watched = (...args: []): R => {
      isProgramsError = true;
      const result = next(...args);
      isProgramsError = false;
      ran = { result };
      return result;
    };
    let isDone = false;
    try {
      const result = observe(watched);
      isDone = true;
      return result;
    } finally {
      // A `catch` would make Node name this line as the place of the program's error.
      if (!isDone && !isProgramsError) {
        this.break(new Error(`${ran === undefined ? "before" : "after"} ${what}`));
        // oxlint-disable-next-line no-unsafe-finally -- what the observer has thrown goes no further
        return ran === undefined ? next() : ran.result;
      }
    }
  }

  /** Stops observing after an error that was caught elsewhere. */
  break(error: unknown): void {
    if (this.isBroken) return;
    this.isBroken = true;
    try {
      this.broke(error);
    } catch {
      // If it cannot be closed, it passes everything through from now on.
    }
  }
}

function put(mode: object, name: string, value: unknown): void {
  Object.defineProperty(mode, name, { value, configurable: true, enumerable: true, writable: true });
}
