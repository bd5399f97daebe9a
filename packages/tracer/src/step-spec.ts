import { type BackendName, defaultBackend } from "@remat/dispatch-hook/backends";
import type { Grouping } from "@remat/mod-tracker";
import { describeValue, type FasterGradients, isFasterGradients, RematError, type StepSettings } from "@remat/trace";
import { describeLoss, type LossName } from "./losses.js";
import { keepsState, noOptimizer, type OptimizerName, requireOptimizer } from "./optimizers.js";

/** The sizes that a model module may be built in. */
export const modelSizes = ["full", "tiny"] as const;
export type ModelSize = (typeof modelSizes)[number];

type GroupingName = Extract<Grouping, string>;
/** As a record, so that one that is added is missed here. */
const namedGroupings: Readonly<Record<GroupingName, true>> = { auto: true, prefixes: true, cuts: true, none: true };

/** The ways of grouping a flat model that have a name. */
export const groupingNames: readonly GroupingName[] = Object.keys(namedGroupings) as GroupingName[];

/**
 * What becomes of blocks that a model checkpoints by hand (`checkpoint` and `checkpointLayers` of `@remat/checkpoint`): `given`, they are recomputed in the
 * backward pass as they say; `free`, they run as they are, as under a plan or a budget, which decide for themselves what is recomputed.
 */
export const checkpointings = ["given", "free"] as const;
export type Checkpointing = (typeof checkpointings)[number];

/** What may be said of a training step; {@link resolveStep} decides what is left out. */
export interface StepRequest {
  /** Which size of a model module to build that has several; `full` if not given. */
  readonly size?: ModelSize | undefined;
  /** Samples in a batch; left out: the model's own number. */
  readonly batch?: number | undefined;
  /**
   * For a model that brings no loss. Left out: categorical cross-entropy of each output that is a softmax, mean squared error of the others.
   */
  readonly loss?: LossName | (string & {}) | undefined;
  /** The file that what is exported takes its batch from: only noted, so that the same step can be taken again. */
  readonly data?: string | undefined;
  /** What updates the weights; `none`: gradients only. `sgd` if not given. */
  readonly optimizer?: OptimizerName | "none" | (string & {}) | undefined;
  /** Of `Math.random` while the model is built and its steps are taken; 0 if not given. */
  readonly seed?: number | undefined;
  /** The backend that fake mode stands for, `defaultBackend()` (`tensorflow`) if not given; a real step is taken on the current one. */
  readonly backend?: BackendName | undefined;
  /** Sizes are rounded up to a multiple of this many bytes; 1 if not given, which is what an executor measures. */
  readonly allocationUnitBytes?: number | undefined;
  /** How the layers of a flat model are grouped into modules; `auto` if not given. */
  readonly grouping?: Grouping | undefined;
  /** What becomes of blocks that are checkpointed by hand; `given` if not said. What is to be planned has to be `free`. */
  readonly checkpointing?: Checkpointing | undefined;
  /** Which gradients run in place of tfjs's own where those take more kernels; left out: none. Of traces: steps are timed in ways that say so themselves. What is to be planned has those that plans are followed with: {@link stepToPlan}. */
  readonly fasterGradients?: FasterGradients | undefined;
  /** Whether the model is used as it is: a step is a call of `predict` for one batch, a forward pass alone. Left out: it is trained. */
  readonly predict?: boolean | undefined;
  /** Steps to record; 1 if not given. */
  readonly steps?: number | undefined;
  /** Steps to take before those. Left out: 1 where the optimizer keeps state, so that it is there from the start; else 0. */
  readonly stepsBefore?: number | undefined;
}

/** What is to be planned: the step as an executor takes it, to which it is up what is recomputed, with the gradients of early release. */
export const stepToPlan: Required<Pick<StepRequest, "checkpointing" | "fasterGradients">> = {
  checkpointing: "free",
  fasterGradients: "equal",
};

/** A training step with everything decided. */
export interface StepSpec extends Omit<StepSettings, "grouping" | "predict"> {
  readonly size: ModelSize;
  readonly backend: BackendName;
  readonly allocationUnitBytes: number;
  readonly grouping: Grouping;
  readonly checkpointing: Checkpointing;
  readonly fasterGradients?: FasterGradients;
  readonly predict: boolean;
  readonly steps: number;
  readonly stepsBefore: number;
}

/**
 * Decides what a request leaves open: the one place of all defaults.
 *
 * @throws RematError `LOSS_UNKNOWN`, `OPTIMIZER_UNKNOWN`, `STEP_REQUEST` for a number that is none
 * @example
 * resolveStep({ optimizer: "adam" }).stepsBefore; // 1
 */
export function resolveStep(request: StepRequest = {}): StepSpec {
  const {
    size = "full",
    batch,
    loss,
    data,
    predict = false,
    optimizer = predict ? noOptimizer : "sgd",
    seed = 0,
    backend = defaultBackend().name,
    allocationUnitBytes = 1,
    grouping = "auto",
    checkpointing = "given",
    fasterGradients,
    steps = 1,
  } = request;
  if (loss !== undefined) describeLoss(loss);
  requireOptimizer(optimizer);
  const { stepsBefore = keepsState(optimizer) ? 1 : 0 } = request;
  requireCheckpointing(checkpointing);
  if (fasterGradients !== undefined && !isFasterGradients(fasterGradients))
    throw new RematError(
      "STEP_REQUEST",
      `a training step's fasterGradients: expected equal or reordered, found ${describeValue(fasterGradients)}. Give one, or leave it out.`,
    );
  if (predict) requireNothingTrained(request);
  requireWhole("batch", batch === undefined ? 1 : batch, 1);
  requireWhole("seed", seed, 0);
  requireWhole("allocationUnitBytes", allocationUnitBytes, 1);
  requireWhole("steps", steps, 1);
  requireWhole("stepsBefore", stepsBefore, 0);
  return {
    size,
    ...(batch !== undefined && { batch }),
    ...(loss !== undefined && { loss }),
    ...(data !== undefined && { data }),
    optimizer,
    seed,
    backend,
    allocationUnitBytes,
    grouping,
    checkpointing,
    ...(fasterGradients !== undefined && { fasterGradients }),
    predict,
    steps,
    stepsBefore,
  };
}

/** Returns the part of a spec that is kept in traces and plans, where backend and unit have their own fields. */
export function settingsOf({ size, batch, loss, data, optimizer, grouping, seed, predict }: StepSpec): StepSettings {
  return {
    size,
    ...(batch !== undefined && { batch }),
    ...(loss !== undefined && { loss }),
    ...(data !== undefined && { data }),
    optimizer,
    grouping: typeof grouping === "string" ? grouping : "by a function",
    seed,
    ...(predict && { predict }),
  };
}

function requireCheckpointing(value: Checkpointing): void {
  if (checkpointings.includes(value)) return;
  throw new RematError(
    "STEP_REQUEST",
    `a training step's checkpointing: expected ${checkpointings.join(" or ")}, found ${describeValue(value)}. Give one, or leave it out.`,
  );
}

function requireNothingTrained({ loss, optimizer = noOptimizer }: StepRequest): void {
  const found = loss === undefined ? (optimizer === noOptimizer ? undefined : "optimizer") : "loss";
  if (found === undefined) return;
  throw new RematError(
    "STEP_REQUEST",
    `a prediction's ${found}: expected none, since nothing is trained. Leave it out, or take a training step.`,
  );
}

function requireWhole(field: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return;
  throw new RematError(
    "STEP_REQUEST",
    `a training step's ${field}: expected a whole number of at least ${min}, found ${describeValue(value)}. Give one, or leave it out.`,
  );
}
