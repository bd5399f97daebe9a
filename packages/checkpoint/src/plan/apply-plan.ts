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

/** Options of `applyPlan` and `withPlan`. */
export interface ApplyPlanOptions {
  /**
   * The reaction to the first op that differs from the plan. `refuse`, the default, throws `PLAN_MISMATCH`. `store`
   * stops following the plan in that step and evicts nothing more, so the step is correct but uses more memory. Inputs
   * of random ops then stay alive as long as a tensor uses them. If even the first op of a step differs, the step runs
   * with early release.
   */
  readonly onMismatch?: "refuse" | "store";
  /**
   * True to follow a plan that offloads even if the device computes in host memory. Offloading saves nothing there, but
   * copied data counts as freed. Use it for tests and simulations. By default, such a plan is rejected.
   */
  readonly offloadsOnHost?: boolean;
}

/** Report of one forward and backward pass under a plan. */
export interface StepReport extends PassReport {
  /** The plan that the step followed to its end. */
  readonly plan: Plan | undefined;
  /** The first op that differed from the plan, if any. */
  readonly mismatch: PlanMismatch | undefined;
}

/** A plan in force. */
export interface PlanExecution {
  /** Report of the last forward and backward pass. Undefined before the first. */
  readonly lastStep: StepReport | undefined;
  /** Peak memory in bytes since the plan was applied, including weight updates. */
  readonly peakBytes: number;
  /** Ends the plan and restores the engine. A second call does nothing. */
  close(): void;
}

/**
 * Applies a plan to every forward and backward pass from now on. Data that the plan does not save is evicted when the
 * plan schedules it, also in the forward pass. It is recomputed by replaying kernels.
 *
 * Losses, gradients and weights are bitwise identical to those of unmodified TensorFlow.js. The model does not change,
 * because data is evicted under living tensors. If evicted data is read when the plan does not expect it, for example
 * by `dataSync` during a pass, it is recomputed at once. Gradients and saved tensors are also released early.
 *
 * You can pass several plans, for example of two models that train in turn. Each pass follows the plan whose first op
 * matches its own. If several plans match, the pass follows the one that similar passes have followed to the end.
 *
 * It works with `tf.grads`, `tf.variableGrads`, `optimizer.minimize`, `fit`, `trainOnBatch` and custom loops. Offloaded
 * data moves to host memory, and returns bitwise identical before it is read. The pass waits for the transfers.
 *
 * @throws RematError `BACKEND_UNSUPPORTED` on third-party backends, and for a plan that offloads if the device computes
 * in host memory (unless `offloadsOnHost` is true)
 * @throws RematError `PLAN_SUBJECT` for a plan of a graph or of another framework
 * @throws RematError `PLAN_MISMATCH` from a step that differs from the plan, unless `onMismatch` is `store`
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
 * Applies one or several plans while `fn` runs, which may be asynchronous. See `applyPlan`. Other asynchronous work of
 * the process does not follow the plan.
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
  /** Peak before the pass, or since the last one. */
  private mostBytes = 0;
  private readonly choice: PlanChoice;
  /** The plan that requires a device with its own memory, because it offloads. */
  private readonly offloading: Plan | undefined;

  constructor(plan: Plan | readonly Plan[], options: ApplyPlanOptions) {
    const plans = plansOf(plan);
    // If there is no backend yet, it is checked when the first pass begins.
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
  const refuse = (left: LeftPlan): never => {
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
    `op ${op} differs from the plan for '${name}'${planCount > 1 ? `, the closest of ${planCount} plans` : ""}: ` +
      `expected ${planned === undefined ? "no more ops" : formatOccurrence(planned)}, ` +
      `found ${formatOccurrence(found)}. Plan this step again, or pass { onMismatch: "store" } to continue without recomputation.`,
  );

/**
 * Returns one or several plans as a list, after checking them.
 *
 * @throws RematError `PLAN_SUBJECT`
 *
 * @internal
 */
export function plansOf(plan: Plan | readonly Plan[]): readonly Plan[] {
  const plans = Array.isArray(plan) ? (plan as readonly Plan[]) : [plan as Plan];
  if (plans.length === 0) checkSubject(undefined);
  for (const each of plans) checkSubject(each);
  return plans;
}

/** Returns the gradients that a plan's ops compute. @internal */
export function plannedGradients({ subject }: Plan): NonNullable<DispatchPolicy["fasterGradients"]> {
  return subject.fasterGradients ?? "none";
}

function checkSubject(plan: Plan | undefined): void {
  // JavaScript callers may pass anything.
  const subject: unknown = (plan as Plan | null | undefined)?.subject;
  if (typeof subject !== "object" || subject === null)
    throw new RematError(
      "PLAN_SUBJECT",
      `expected a plan, found ${plan === null ? "null" : `${typeof plan} without a subject`}. ` +
        "Read a plan's file with readPlan, or make one with planCheckpointing.",
    );
  const { kind, framework = "tfjs", name } = (plan as Plan).subject;
  if (kind === "trace" && framework === "tfjs") return;
  throw new RematError(
    "PLAN_SUBJECT",
    `the plan for '${name}' is for a ${kind}${kind === "trace" ? ` of ${framework}` : ""}, ` +
      "not for a TensorFlow.js step. Make one with remat plan or planCheckpointing.",
  );
}
