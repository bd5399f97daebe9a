import { type BackendName, defaultBackend } from "@remat/dispatch-hook/backends";
import type { Grouping } from "@remat/mod-tracker";
import { describeValue, type FasterGradients, isFasterGradients, RematError, type StepSettings } from "@remat/trace";
import { describeLoss, type LossName } from "./losses.js";
import { keepsState, noOptimizer, type OptimizerName, requireOptimizer } from "./optimizers.js";

/** The sizes that a model module can be built in. */
export const modelSizes = ["full", "tiny"] as const;
/** Size of a model module. */
export type ModelSize = (typeof modelSizes)[number];

type GroupingName = Extract<Grouping, string>;
/** A record, so that the compiler reports a missing name. */
const namedGroupings: Readonly<Record<GroupingName, true>> = { auto: true, prefixes: true, cuts: true, none: true };

/** Named methods to group the layers of a flat model. */
export const groupingNames: readonly GroupingName[] = Object.keys(namedGroupings) as GroupingName[];

/**
 * How manually checkpointed blocks (`checkpoint` and `checkpointLayers` of `@remat/checkpoint`) run. `given`: the
 * backward pass recomputes them. `free`: they run without recomputation, as under a plan or a budget, which decide on
 * recomputation themselves.
 */
export const checkpointings = ["given", "free"] as const;
/** How manually checkpointed blocks run. */
export type Checkpointing = (typeof checkpointings)[number];

/** Request for a training step. {@link resolveStep} fills in the defaults. */
export interface StepRequest {
  /** Size to build, for a model module with several sizes. Default: `full`. */
  readonly size?: ModelSize | undefined;
  /** Number of samples in a batch. Default: the model's own number. */
  readonly batch?: number | undefined;
  /**
   * Loss of a model that does not bring one. Default: categorical cross-entropy for each softmax output, mean squared
   * error for the others.
   */
  readonly loss?: LossName | (string & {}) | undefined;
  /** The file that the batch comes from. Only recorded, so that the same step can be run again. */
  readonly data?: string | undefined;
  /** The optimizer, or `none` for gradients only. Default: `sgd`. */
  readonly optimizer?: OptimizerName | "none" | (string & {}) | undefined;
  /** Seed of `Math.random` while the model is built and its steps run. Default: 0. */
  readonly seed?: number | undefined;
  /**
   * The backend to simulate in fake mode. Default: `defaultBackend()` (`tensorflow`). A real step runs on the current
   * backend.
   */
  readonly backend?: BackendName | undefined;
  /** Sizes are rounded up to a multiple of this many bytes. Default: 1, so that sizes are exact. */
  readonly allocationUnitBytes?: number | undefined;
  /** How the layers of a flat model are grouped into modules. Default: `auto`. */
  readonly grouping?: Grouping | undefined;
  /** How manually checkpointed blocks run. Default: `given`. A step to be planned needs `free`. */
  readonly checkpointing?: Checkpointing | undefined;
  /**
   * Which gradients with needlessly many kernels are replaced in traces. Default: none. Timed steps ignore this
   * setting, because each strategy has its own. For a step to be planned, use {@link stepToPlan}.
   */
  readonly fasterGradients?: FasterGradients | undefined;
  /** True to run inference: a step is `predict` for one batch, a forward pass only. Default: false, training. */
  readonly predict?: boolean | undefined;
  /** Number of steps to record. Default: 1. */
  readonly steps?: number | undefined;
  /**
   * Number of steps before the recorded ones. Default: 1 if the optimizer keeps state, so that the state exists from
   * the start, otherwise 0.
   */
  readonly stepsBefore?: number | undefined;
}

/**
 * Settings of a step to be planned. Manually checkpointed blocks run without recomputation, because the plan decides on
 * it. The step uses the same faster gradients as early release.
 */
export const stepToPlan: Required<Pick<StepRequest, "checkpointing" | "fasterGradients">> = {
  checkpointing: "free",
  fasterGradients: "equal",
};

/** A training step with all defaults filled in. */
export interface StepSpec extends Omit<StepSettings, "grouping" | "predict"> {
  /** Size of the model. */
  readonly size: ModelSize;
  /** The backend to simulate, or the current one. */
  readonly backend: BackendName;
  /** Sizes are rounded up to a multiple of this many bytes. */
  readonly allocationUnitBytes: number;
  /** How layers of a flat model are grouped into modules. */
  readonly grouping: Grouping;
  /** How manually checkpointed blocks run. */
  readonly checkpointing: Checkpointing;
  /** Gradients that replace those of TensorFlow.js. */
  readonly fasterGradients?: FasterGradients;
  /** True for inference. */
  readonly predict: boolean;
  /** Number of steps to record. */
  readonly steps: number;
  /** Number of steps before the recorded ones. */
  readonly stepsBefore: number;
}

/**
 * Fills in the defaults of a request. All defaults are decided here.
 *
 * @throws RematError `LOSS_UNKNOWN`, `OPTIMIZER_UNKNOWN`, `STEP_REQUEST` for an invalid number
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
      `a training step's fasterGradients: expected "equal" or "reordered", found ${describeValue(fasterGradients)}. Correct it, or leave it out.`,
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

/** Returns the part of a spec that traces and plans store. Backend and allocation unit have their own fields there. */
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
    `a training step's checkpointing: expected ${checkpointings.join(" or ")}, found ${describeValue(value)}. Correct it, or leave it out.`,
  );
}

function requireNothingTrained({ loss, optimizer = noOptimizer }: StepRequest): void {
  const found = loss === undefined ? (optimizer === noOptimizer ? undefined : "optimizer") : "loss";
  if (found === undefined) return;
  throw new RematError(
    "STEP_REQUEST",
    `a prediction's ${found}: not supported, because inference does not train. Leave it out, or take a training step.`,
  );
}

function requireWhole(field: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return;
  throw new RematError(
    "STEP_REQUEST",
    `a training step's ${field}: expected a whole number of at least ${min}, found ${describeValue(value)}. Correct it, or leave it out.`,
  );
}
