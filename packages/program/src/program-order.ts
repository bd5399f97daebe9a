import type { StackLimits } from "@remat/leaks";
import type { ProgramPlace } from "./outside/program-io.js";

/** What is to be done with a program: record its first steps. */
export interface RecordOrder {
  readonly kind: "record";
  /** How many steps of each model and optimizer. */
  readonly steps: number;
  /** After so many seconds since the first step no other model is looked for. */
  readonly seconds: number;
  /** What a process may hold here: the traces tell it of steps whose device is the CPU. */
  readonly memoryBytes?: number | undefined;
  /** Whether steps are recorded after these, too, now and then, each for {@link ThreadReport.watched}, until the program ends. */
  readonly watches?: true;
}

/** What is to be done with a program: keep every step within a budget, follow plans, or, without any of these, release early. */
export interface ExecOrder {
  readonly kind: "exec";
  /** As `withMemoryBudget` takes it. */
  readonly budget?: string | undefined;
  /** The paths of plans' files: each pass follows the one that is for it, the rest is released early, or kept within the budget. */
  readonly plans?: readonly string[] | undefined;
  /** Of early release: whether weights are updated in the backward pass. */
  readonly updateInBackward?: boolean;
}

/** What is to be done with a program: find what outlives its step. */
export interface LeaksOrder {
  readonly kind: "leaks";
  /** How many stacks may be taken; left out: as many as slow the program by a few percent. */
  readonly stacks?: StackLimits;
}

export type ProgramOrder = RecordOrder | ExecOrder | LeaksOrder;

/** An order, and where the program's reports go. */
export type GivenOrder = ProgramOrder & ProgramPlace;

/** The environment variable by which a program's processes and threads know of their order. @internal */
export const orderVariable = "REMAT_PROGRAM";

/** @internal */
export function readOrder(env: NodeJS.ProcessEnv): GivenOrder | undefined {
  const text = env[orderVariable];
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as GivenOrder;
  } catch {
    // Somebody else's variable: the program runs on its own.
    return undefined;
  }
}
