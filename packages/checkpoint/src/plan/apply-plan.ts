import { type DispatchMode, openDispatchMode, withDispatchMode } from "@remat/dispatch-hook";
import { formatOccurrence, isPlanNode, type Occurrence, type Plan, type PlanMismatch, RematError } from "@remat/trace";
import { Executor, type PassReport } from "../executor/executor.js";
import { checkBackend } from "../executor/supported-backend.js";
import { sequenceOfOccurrences } from "./op-sequence.js";
import { type LeftPlan, PlanFollower } from "./plan-follower.js";
import { scriptOfPlan } from "./plan-script.js";

export interface ApplyPlanOptions {
  /**
   * What to do at the first op that differs from the plan: `refuse`, the default, throws; `store` follows the plan no further in that step and
   * keeps what it would have evicted, so that the step is right and takes more memory. What random numbers went into is then held as long as
   * any tensor lives in it.
   */
  readonly onMismatch?: "refuse" | "store";
}

/** What a step under a plan came to. */
export interface StepReport extends PassReport {
  /** Where the step left the plan. */
  readonly mismatch: PlanMismatch | undefined;
}

/** A plan that is being followed. */
export interface PlanExecution {
  /** Of the last forward and backward pass; undefined before the first. */
  readonly lastStep: StepReport | undefined;
  /** Ends it: the engine is as before. A second call does nothing. */
  close(): void;
}

/**
 * Applies a plan: from here on every forward and backward pass follows it. What it does not save is evicted after the step that says so, in the
 * forward pass too, and recomputed by replaying kernels where it says so. Losses, gradients and weights are those of stock to the bit, and
 * nothing in the model changes: the data goes under living tensors. What is touched against the plan (`dataSync` in the middle, another op) is
 * recomputed at once. Gradients and saved tensors are released early besides.
 *
 * Works through `tf.grads`, `tf.variableGrads`, `optimizer.minimize`, `fit`, `trainOnBatch` and custom loops.
 *
 * @throws RematError `BACKEND_UNSUPPORTED` on backends other than native, wasm and cpu; `PLAN_SUBJECT` for a plan of a graph or of another
 * framework; in a step that differs from the plan, `PLAN_MISMATCH`, unless `onMismatch` is `store`
 * @example
 * const { point } = await planCheckpointing(trace, { budgetFraction: 0.5 });
 * const execution = applyPlan(point.plan);
 * await model.fit(x, y);
 * console.log(execution.lastStep.peakBytes);
 * execution.close();
 */
export function applyPlan(plan: Plan, options: ApplyPlanOptions = {}): PlanExecution {
  const { executor, execution } = prepare(plan, options);
  const close = openDispatchMode(executor);
  return Object.assign(execution, { close });
}

/**
 * Runs `fn`, synchronous or not, under a plan, as `applyPlan` does, and ends that when `fn` is over. Other asynchronous work of the process does not
 * follow the plan.
 *
 * @example
 * const loss = await withPlan(plan, () => model.trainOnBatch(x, y));
 */
export function withPlan<T>(
  plan: Plan,
  fn: (execution: Pick<PlanExecution, "lastStep">) => T,
  options: ApplyPlanOptions = {},
): T {
  const { executor, execution } = prepare(plan, options);
  return withDispatchMode(executor, () => fn(execution));
}

function prepare(
  plan: Plan,
  { onMismatch = "refuse" }: ApplyPlanOptions,
): { executor: Executor; execution: Pick<PlanExecution, "lastStep"> } {
  checkSubject(plan);
  checkBackend();
  const ops = plan.ops.filter((op): op is Occurrence => !isPlanNode(op));
  const refuse = (left: LeftPlan) => {
    throw leftPlan(plan.subject.name, ops[left.op], left);
  };
  const follower = new PlanFollower(sequenceOfOccurrences(ops), scriptOfPlan(plan), {
    ...(onMismatch === "refuse" && { onLeft: refuse, evictsForGood: true }),
  });
  const executor = new Executor(follower, undefined, plannedGradients(plan));
  const execution = {
    get lastStep(): StepReport | undefined {
      const { lastPass } = executor;
      const { left } = follower;
      return lastPass && { ...lastPass, mismatch: left && { ...left, planned: ops[left.op] } };
    },
  };
  return { executor, execution };
}

const leftPlan = (name: string, planned: Occurrence | undefined, { op, found }: LeftPlan): RematError =>
  new RematError(
    "PLAN_MISMATCH",
    `op ${op} is not as in the plan for '${name}': expected ${planned === undefined ? "no more ops" : formatOccurrence(planned)}, found ${formatOccurrence(found)}. Plan this model, loss and batch again, or pass { onMismatch: "store" } to go on without freeing anything more.`,
  );

/**
 * Returns the gradients that a plan's ops compute.
 *
 * @throws RematError `PLAN_SUBJECT`
 * @internal
 */
export function plannedGradients(plan: Plan): DispatchMode["fasterGradients"] {
  checkSubject(plan);
  return plan.subject.fasterGradients ?? "none";
}

function checkSubject(plan: Plan): void {
  // JavaScript passes anything.
  const subject: unknown = (plan as Plan | null | undefined)?.subject;
  if (typeof subject !== "object" || subject === null)
    throw new RematError(
      "PLAN_SUBJECT",
      `expected a plan, found ${plan === null ? "null" : `${typeof plan} without a subject`}; read a plan's file with readPlan, or make one with planCheckpointing`,
    );
  const { kind, framework = "tfjs", name } = plan.subject;
  if (kind === "trace" && framework === "tfjs") return;
  throw new RematError(
    "PLAN_SUBJECT",
    `the plan for '${name}' is of a ${kind}${kind === "trace" ? ` of ${framework}` : ""}; expected one of a trace of a TensorFlow.js step: make it with remat plan, or planCheckpointing`,
  );
}
