import type { StackLimits } from "@remat/leaks";
import type { ProgramPlace } from "./outside/program-io.js";

/** An order to record a program's first steps. */
export interface RecordOrder {
  readonly kind: "record";
  /** Number of steps to record for each model and optimizer. */
  readonly steps: number;
  /** Seconds after the first step during which remat looks for further models. */
  readonly seconds: number;
  /** Memory available to a process on this machine, in bytes. It is recorded in traces of steps on the CPU. */
  readonly memoryBytes?: number | undefined;
  /**
   * True if further steps are recorded from time to time until the program ends. Each of them then replaces
   * {@link ThreadReport.watched}.
   */
  readonly watches?: true;
}

/**
 * An order to keep every step within a budget or to follow plans. Without a budget and plans, steps release memory
 * early.
 */
export interface ExecOrder {
  readonly kind: "exec";
  /** A budget as `withMemoryBudget` accepts it. */
  readonly budget?: string | undefined;
  /**
   * Paths of plan files. Each pass follows the plan made for it. Passes without a plan run with early release, or
   * within the budget.
   */
  readonly plans?: readonly string[] | undefined;
  /** For early release: whether weights are updated in the backward pass. */
  readonly updateInBackward?: boolean;
}

/** An order to find tensors that outlive their step. */
export interface LeaksOrder {
  readonly kind: "leaks";
  /** Limits on taking stacks. The default limits slow the program by a few percent. */
  readonly stacks?: StackLimits;
}

/** A task for remat in the threads of a program. */
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
