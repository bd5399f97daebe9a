import type { Budget } from "@remat/memory";
import type { CheckpointedModules } from "@remat/sharding";
import type { Plan, Trace } from "@remat/trace";
import type { BindingOp } from "../checkpointing/binding-op.js";
import type { CheckpointingAnswer, CheckpointingOptions } from "../checkpointing/plan-checkpointing.js";

/** What a method may take besides a budget. */
export type MethodOption = "maxOverhead" | "pareto" | "order" | "modules" | "sharding" | "link" | "checkpoint";

/** A way to make a plan: what a file of this folder exports, and `plan-methods.ts` lists. */
export interface PlanMethod {
  readonly name: string;
  /** Other names for it. */
  readonly aliases?: readonly string[];
  /** For help: what it plans. */
  readonly purpose: string;
  /** What its budget is of: the peak of the step, which a plan must not exceed, or what each module stores. */
  readonly budgetOf: "step" | "module";
  readonly takes: ReadonlySet<MethodOption>;
  plan(trace: Trace, request: MethodRequest): Promise<MethodAnswer>;
}

/** What is asked of a method; it is given nothing that it does not take. */
export interface MethodRequest
  extends Pick<
    CheckpointingOptions,
    "iterations" | "boundTimeMs" | "seed" | "signal" | "onProgress" | "paretoPoints" | "linkBytesPerSecond"
  > {
  readonly budget?: Budget | undefined;
  readonly maxOverhead?: number | undefined;
  readonly timeMs?: number | undefined;
  /** Names or patterns of the modules that may be planned (`*` stands for part of one name); none for all. */
  readonly modules?: readonly string[];
  /** Devices that weights are sharded over, and which modules are sharded as one. */
  readonly worldSize?: number;
  readonly fsdpUnits?: readonly string[];
  /** What is checkpointed, where that is not to be searched for. */
  readonly checkpoint?: readonly CheckpointedModules[] | undefined;
  /** Searches in another way than one after the other: `planCheckpointing` of `@remat/planner/node`. */
  readonly planCheckpointing?: (trace: Trace, options: CheckpointingOptions) => Promise<CheckpointingAnswer>;
}

/** What a method found, or why there is nothing. */
export type MethodAnswer = MethodPlan | { readonly infeasible: BindingOp; readonly recordedPeakBytes: number };

export interface MethodPlan {
  readonly plan: Plan;
  /** What it is of: the trace, or what one of many devices holds of it. */
  readonly trace: Trace;
  /** Sentences for people. */
  readonly notes: readonly string[];
  /** What the method has to say of its plan. */
  readonly tables: readonly MethodTable[];
  /** The modules that are checkpointed, where the method chose modules. */
  readonly checkpointed?: readonly string[];
  readonly front?: Pick<CheckpointingAnswer, "front" | "recommended">;
}

/** What the values of a column are. */
export type MethodQuantity = "text" | "count" | "bytes" | "ms" | "share";

/** A table of plain values. */
export interface MethodTable {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly (readonly [header: string, quantity: MethodQuantity])[];
  /** A cell that is undefined stays empty. */
  readonly rows: readonly (readonly (string | number | undefined)[])[];
  readonly remark?: string | undefined;
  /** The same, and what else programs want to know. */
  readonly data: unknown;
}
