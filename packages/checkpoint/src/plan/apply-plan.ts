import {
  type DispatchPolicy,
  type GradientsCall,
  type GradientsResult,
  openDispatchMode,
  type RunGradients,
  withDispatchMode,
} from "@remat/dispatch-hook";
import {
  checkCallOptions,
  checkOptionNames,
  formatOccurrence,
  isFlag,
  isPlanNode,
  type Occurrence,
  type OptionChecks,
  offloads,
  type Plan,
  type PlanMismatch,
  RematError,
} from "@remat/trace";
import { getBackend } from "@tensorflow/tfjs-core";
import { askedGradients } from "../executor/asked-gradients.js";
import { Executor, type PassReport } from "../executor/executor.js";
import { checkBackend } from "../executor/supported-backend.js";
import { checkOffloading } from "./check-offloading.js";
import { sequenceOfOccurrences } from "./op-sequence.js";
import { type ChosenPlan, PlanChoice } from "./plan-choice.js";
import { type LeftPlan, PlanFollower } from "./plan-follower.js";
import { scriptOfPlan } from "./plan-script.js";

export interface ApplyPlanOptions {
  /**
   * What to do at the first op that differs from the plan: `refuse`, the default, throws; `store` follows the plan no further in that step and
   * keeps what it would have evicted, so that the step is right and takes more memory. What random numbers went into is then held as long as
   * any tensor lives in it. A step that differs from its first op on is released early.
   */
  readonly onMismatch?: "refuse" | "store";
  /**
   * Whether a plan that offloads is followed where the device's memory is the host's, too: there it saves nothing, and what is copied counts as gone. For
   * tests and simulations; otherwise such a plan is refused there.
   */
  readonly offloadsOnHost?: boolean;
}

/** What a step under a plan came to. */
export interface StepReport extends PassReport {
  /** The plan that the step followed to its end. */
  readonly plan: Plan | undefined;
  /** Where the step left the plan. */
  readonly mismatch: PlanMismatch | undefined;
}

/** A plan that is being followed. */
export interface PlanExecution {
  /** Of the last forward and backward pass; undefined before the first. */
  readonly lastStep: StepReport | undefined;
  /** The most bytes alive at any moment since it was applied, updates of the weights included. */
  readonly peakBytes: number;
  /** Ends it: the engine is as before. A second call does nothing. */
  close(): void;
}

/**
 * Applies a plan: from here on every forward and backward pass follows it. What it does not save is evicted after the step that says so, in the
 * forward pass too, and recomputed by replaying kernels where it says so. Losses, gradients and weights are those of stock to the bit, and
 * nothing in the model changes: the data goes under living tensors. What is touched against the plan (`dataSync` in the middle, another op) is
 * recomputed at once. Gradients and saved tensors are released early besides.
 *
 * Of several plans, such as those of two models that train in turn, each pass follows the one that begins as it does; where several do, the one that passes like it have
 * followed to their end before.
 *
 * Works through `tf.grads`, `tf.variableGrads`, `optimizer.minimize`, `fit`, `trainOnBatch` and custom loops.
 *
 * What the plan offloads moves to host memory, and back before it is read, bit for bit; the pass waits for it.
 *
 * @throws RematError `BACKEND_UNSUPPORTED` on backends other than tfjs's own, and for a plan that offloads on one whose device is the host, unless
 * `offloadsOnHost` is true; `PLAN_SUBJECT` for a plan of a graph or of another framework; in a step that differs from the plan, `PLAN_MISMATCH`, unless `onMismatch` is `store`
 * @example
 * const { point } = await planCheckpointing(trace, { budgetFraction: 0.5 });
 * const execution = applyPlan(point.plan);
 * await model.fit(x, y);
 * console.log(execution.lastStep.peakBytes);
 * execution.close();
 */
export function applyPlan(plan: Plan | readonly Plan[], options: ApplyPlanOptions = {}): PlanExecution {
  checkPlanOptions("applyPlan", options);
  const execution = new PlanExecutor(plan, options);
  const close = openDispatchMode(execution);
  return Object.assign(execution, { close });
}

/**
 * Runs `fn`, synchronous or not, under a plan, or several, as `applyPlan` does, and ends that when `fn` is over. Other asynchronous work of the process does not
 * follow the plan.
 *
 * @example
 * const loss = await withPlan(plan, () => model.trainOnBatch(x, y));
 */
export function withPlan<T>(
  plan: Plan | readonly Plan[],
  fn: (execution: Pick<PlanExecution, "lastStep" | "peakBytes">) => T,
  options: ApplyPlanOptions = {},
): T {
  checkPlanOptions("withPlan", options);
  const execution = new PlanExecutor(plan, options);
  return withDispatchMode(execution, () => fn(execution));
}

const planOptions: OptionChecks = {
  onMismatch: [(value) => value === "refuse" || value === "store", "refuse or store"],
  offloadsOnHost: [isFlag, "true or false"],
};

function checkPlanOptions(call: string, options: ApplyPlanOptions): void {
  checkCallOptions(call, options, planOptions);
  checkOptionNames(call, options, Object.keys(planOptions));
}

class PlanExecutor extends Executor {
  /** Before the pass, or since the last one. */
  private mostBytes = 0;
  private readonly choice: PlanChoice;
  /** A plan that offloads, where only a device with memory of its own may do so. */
  private readonly offloading: Plan | undefined;

  constructor(plan: Plan | readonly Plan[], options: ApplyPlanOptions) {
    const plans = plansOf(plan);
    // Where none is there yet, it is asked about when the first pass begins.
    if (getBackend()) checkBackend();
    const offloading = options.offloadsOnHost === true ? undefined : plans.find(offloads);
    if (getBackend()) checkOffloading(offloading);
    const choice = new PlanChoice(plans.map((each) => chosenPlan(each, options, plans.length)));
    super(choice);
    this.choice = choice;
    this.offloading = offloading;
  }

  get lastStep(): StepReport | undefined {
    const { lastPass, choice } = this;
    const { ops = [], follower } = choice.chosen ?? {};
    const left = follower?.left;
    return (
      lastPass && { ...lastPass, plan: choice.followed?.plan, mismatch: left && { ...left, planned: ops[left.op] } }
    );
  }

  get peakBytes(): number {
    return Math.max(this.mostBytes, this.meter.peakBytes);
  }

  get prunesSaved(): boolean {
    return this.isInPass && this.choice.prunesSaved;
  }

  override get fasterGradients(): DispatchPolicy["fasterGradients"] {
    return this.choice.fasterGradients;
  }

  override gradients(call: GradientsCall, next: RunGradients): GradientsResult {
    if (!this.isInPass) {
      checkOffloading(this.offloading);
      this.mostBytes = this.peakBytes;
      this.choice.passComing(askedGradients(call));
    }
    return super.gradients(call, next);
  }
}

function chosenPlan(plan: Plan, { onMismatch = "refuse" }: ApplyPlanOptions, planCount: number): ChosenPlan {
  const ops = plan.ops.filter((op): op is Occurrence => !isPlanNode(op));
  const refuse = (left: LeftPlan) => {
    throw leftPlan(plan.subject.name, ops[left.op], left, planCount);
  };
  const follower = new PlanFollower(sequenceOfOccurrences(ops), scriptOfPlan(plan), {
    ...(onMismatch === "refuse" && { onLeft: refuse, evictsForGood: true }),
  });
  return { plan, ops, follower, gradients: plannedGradients(plan) };
}

const leftPlan = (
  name: string,
  planned: Occurrence | undefined,
  { op, found }: LeftPlan,
  planCount: number,
): RematError =>
  new RematError(
    "PLAN_MISMATCH",
    `op ${op} is not as in the plan for '${name}'${planCount > 1 ? `, the likeliest of ${planCount}` : ""}: expected ${planned === undefined ? "no more ops" : formatOccurrence(planned)}, found ${formatOccurrence(found)}. Plan this model, loss and batch again, or pass { onMismatch: "store" } to go on without freeing anything more.`,
  );

/**
 * Returns a list of plans, of one or several.
 *
 * @throws RematError `PLAN_SUBJECT`
 * @internal
 */
export function plansOf(plan: Plan | readonly Plan[]): readonly Plan[] {
  const plans = Array.isArray(plan) ? (plan as readonly Plan[]) : [plan as Plan];
  if (plans.length === 0) checkSubject(undefined);
  for (const each of plans) checkSubject(each);
  return plans;
}

/**
 * Returns the gradients that a plan's ops compute.
 *
 * @throws RematError `PLAN_SUBJECT`
 * @internal
 */
export function plannedGradients({ subject }: Plan): NonNullable<DispatchPolicy["fasterGradients"]> {
  return subject.fasterGradients ?? "none";
}

function checkSubject(plan: Plan | undefined): void {
  // JavaScript passes anything.
  const subject: unknown = (plan as Plan | null | undefined)?.subject;
  if (typeof subject !== "object" || subject === null)
    throw new RematError(
      "PLAN_SUBJECT",
      `expected a plan, found ${plan === null ? "null" : `${typeof plan} without a subject`}; read a plan's file with readPlan, or make one with planCheckpointing`,
    );
  const { kind, framework = "tfjs", name } = (plan as Plan).subject;
  if (kind === "trace" && framework === "tfjs") return;
  throw new RematError(
    "PLAN_SUBJECT",
    `the plan for '${name}' is of a ${kind}${kind === "trace" ? ` of ${framework}` : ""}; expected one of a trace of a TensorFlow.js step: make it with remat plan, or planCheckpointing`,
  );
}
