import type { StackLimits } from "@remat/leaks";
import type { ProgramPlace } from "./outside/program-io.js";

/** An order to record a program's first steps. */
export interface RecordOrder {
  readonly kind: "record";
  /** Number of steps to record for each model and optimizer. */
  readonly steps: number;
  /** The search for further models ends this many seconds after the first step. */
  readonly seconds: number;
  /** Memory available to a process here. Traces of steps on the CPU record it. */
  readonly memoryBytes?: number | undefined;
  /**
   * True if further steps are recorded from time to time until the program ends, each for {@link ThreadReport.watched}.
   */
  readonly watches?: true;
}

/** An order to keep every step within a budget, to follow plans, or with neither of these, to release early. */
export interface ExecOrder {
  readonly kind: "exec";
  /** A budget as `withMemoryBudget` accepts it. */
  readonly budget?: string | undefined;
  /**
   * Paths of plan files. Each pass follows the plan made for it. Other passes run with early release, or within the
   * budget.
   */
  readonly plans?: readonly string[] | undefined;
  /** For early release: whether weights are updated in the backward pass. */
  readonly updateInBackward?: boolean;
}

/** An order to find tensors that outlive their step. */
export interface LeaksOrder {
  readonly kind: "leaks";
  /** Limits on taking stacks. Left out: limits that slow the program by a few percent. */
  readonly stacks?: StackLimits;
}

/** An order to remat in a program's threads. */
export type ProgramOrder = RecordOrder | ExecOrder | LeaksOrder;

/** An order, and where to put the program's reports. */
export type GivenOrder = ProgramOrder & ProgramPlace;

/**
 * The environment variable that passes the order to a program's processes and threads.
 *
 * @internal
 */
export const orderVariable = "REMAT_PROGRAM";

/** @internal */
export function readOrder(env: NodeJS.ProcessEnv): GivenOrder | undefined {
  const text = env[orderVariable];
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as GivenOrder;
  } catch {
    // The variable belongs to other software, so the program runs unchanged.
    return undefined;
  }
}
