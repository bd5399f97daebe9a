import type { Budget } from "@remat/memory";
import type { CheckpointedModules } from "@remat/sharding";
import type { Plan, Trace } from "@remat/trace";
import type { BindingOp } from "../checkpointing/binding-op.js";
import type { CheckpointingAnswer, CheckpointingOptions } from "../checkpointing/plan-checkpointing.js";

/** Options that a method may accept in addition to a budget. */
export type MethodOption = "maxOverhead" | "pareto" | "order" | "modules" | "sharding" | "link" | "checkpoint";

/** A method for making plans. Each file in this folder exports one, and `plan-methods.ts` lists them. */
export interface PlanMethod {
  readonly name: string;
  /** Other names for the method. */
  readonly aliases?: readonly string[];
  /** The method's purpose in one line, for the help text. */
  readonly purpose: string;
  /** The quantity that the budget limits: the peak of the step, or the stored results of each module. */
  readonly budgetOf: "step" | "module";
  readonly takes: ReadonlySet<MethodOption>;
  plan(trace: Trace, request: MethodRequest): Promise<MethodAnswer>;
}

/** A request to a method. It contains only options that the method accepts. */
export interface MethodRequest
  extends Pick<
    CheckpointingOptions,
    "iterations" | "boundTimeMs" | "seed" | "signal" | "onProgress" | "paretoPoints" | "linkBytesPerSecond"
  > {
  readonly budget?: Budget | undefined;
  readonly maxOverhead?: number | undefined;
  readonly timeMs?: number | undefined;
  /** Names or patterns of the modules that may be planned (`*` stands for a part of one name), or empty for all. */
  readonly modules?: readonly string[];
  /** The number of devices that weights are sharded over, and the modules that are sharded as units. */
  readonly worldSize?: number;
  readonly fsdpUnits?: readonly string[];
  /** The modules to checkpoint, if they are given instead of searched for. */
  readonly checkpoint?: readonly CheckpointedModules[] | undefined;
  /**
   * Another implementation of the search, such as `planCheckpointing` of `@remat/planner/node`, which runs searches in
   * parallel.
   */
  readonly planCheckpointing?: (trace: Trace, options: CheckpointingOptions) => Promise<CheckpointingAnswer>;
}

/** The result of a method, or the reason why none exists. */
export type MethodAnswer = MethodPlan | { readonly infeasible: BindingOp; readonly recordedPeakBytes: number };

/** A plan found by a method. */
export interface MethodPlan {
  readonly plan: Plan;
  /** The trace that the plan is for: the original trace, or the trace of one of many devices. */
  readonly trace: Trace;
  /** Notes for people, as sentences. */
  readonly notes: readonly string[];
  /** Details of the plan, as tables. */
  readonly tables: readonly MethodTable[];
  /** The modules that are checkpointed, if the method chose modules. */
  readonly checkpointed?: readonly string[];
  readonly front?: Pick<CheckpointingAnswer, "front" | "recommended">;
}

/** The kind of values in a column. */
export type MethodQuantity = "text" | "count" | "bytes" | "ms" | "share";

/** A table of plain values. */
export interface MethodTable {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly (readonly [header: string, quantity: MethodQuantity])[];
  /** An undefined cell stays empty. */
  readonly rows: readonly (readonly (string | number | undefined)[])[];
  readonly remark?: string | undefined;
  /** The same data for programs, possibly with more details. */
  readonly data: unknown;
}
