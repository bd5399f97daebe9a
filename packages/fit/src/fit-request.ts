import { refusesRecordedOptimizer, torchOptimizerCode } from "@remat/sharding";
import { type DeviceNetwork, type DeviceSpec, RematError } from "@remat/trace";
import { type FitObjective, type FitPrecision, type FitUnit, type FitWayName, fitWayNames } from "./fit-unit.js";
import type { StepsToFit } from "./steps-to-fit.js";
import { fitWay } from "./ways/fit-ways.js";

/** A search over all combinations of these values. */
export interface FitRequest {
  /** The devices to consider. */
  readonly devices: readonly DeviceSpec[];
  /** The memory for a step on each device. Default: the memory of the device. */
  readonly memoryBytes?: number | undefined;
  /**
   * The part of the memory that is reserved for everything except the step, such as the process and the CUDA context.
   * Default: 0.
   */
  readonly reserveBytes?: number | undefined;
  /** The batches to consider. Default: 1 to 512, or the batch of recorded runs that cannot be scaled. */
  readonly batches?: readonly number[] | undefined;
  /** The optimizers to consider. Default: only the model's own optimizer, or the recorded one. */
  readonly optimizers?: readonly string[] | undefined;
  /** The precisions to consider. Default: only the traced or recorded precision. */
  readonly precisions?: readonly FitPrecision[] | undefined;
  /** The strategies to consider. Default: all that apply to the steps, except offloading. */
  readonly ways?: readonly FitWayName[] | undefined;
  /** The numbers of devices over which to shard. Default: one device. */
  readonly ranks?: readonly number[] | undefined;
  /**
   * For several ranks, the lists of wrapped modules to consider. An undefined entry stands for the usual wrapping of
   * FSDP, which is the only one that is considered by default.
   */
  readonly wraps?: readonly (readonly string[] | undefined)[] | undefined;
  /** The network between devices. Default: the network of each device. */
  readonly network?: DeviceNetwork | undefined;
  /** The samples of a step over all ranks and micro-batches. Default: the samples of one pass on all ranks. */
  readonly globalBatch?: number | undefined;
  /** The maximum additional time for recomputation or transfers, as a fraction of the step. Default: 0.3. */
  readonly maxOverhead?: number | undefined;
  /** The objective of the search. Default: `throughput`. */
  readonly objective?: FitObjective;
  /** The number of changes that a search for a plan tries. Default: 5000. */
  readonly iterations?: number;
  /** The seed of searches for plans. Default: 0. */
  readonly seed?: number | undefined;
}

/** The default batches. */
const usualBatches: readonly number[] = Array.from({ length: 512 }, (_, i) => i + 1);

/**
 * Returns the units of work of a request, one for each configuration. Their order depends on the request alone.
 *
 * @throws RematError `FIT_REQUEST` for an invalid request, with the name of the option
 * @example
 * unitsOf({ devices: [deviceSpec("a100"), deviceSpec("l4")], ways: ["stock", "recompute"], ranks: [1, 8] }, steps).length; // 8
 */
export function unitsOf(request: FitRequest, steps: StepsToFit): readonly FitUnit[] {
  const { optimizers = [undefined], precisions = ["f32"], ranks = [1], wraps = [undefined], network } = request;
  const {
    globalBatch,
    maxOverhead = 0.3,
    objective = "throughput",
    iterations = usualIterations,
    seed = 0,
    reserveBytes = 0,
  } = request;
  for (const precision of precisions) {
    const refused = refusesPrecision(precision, steps);
    if (refused !== undefined) throw refusal(`--precision ${refused}`);
  }
  const batches = batchesOf(request, steps);
  for (const optimizer of request.optimizers ?? []) checkOptimizer(optimizer, steps);
  const keepsMeasured =
    steps.isMeasured === true &&
    request.devices.length === 1 &&
    steps.recordedBatches?.length === 1 &&
    // An update that was not recorded has no measured time.
    (request.optimizers ?? []).every((optimizer) => torchOptimizerCode(optimizer) === undefined);
  const units: FitUnit[] = [];
  for (const spec of request.devices) {
    const deviceBytes = request.memoryBytes ?? spec.memoryBytes;
    if (deviceBytes === undefined)
      throw refusal(`the memory of ${spec.name} is unknown. Pass --memory, or a device file with memoryBytes.`);
    const memoryBytes = deviceBytes - reserveBytes;
    if (memoryBytes <= 0)
      throw refusal(`--reserve ${reserveBytes}B uses all ${deviceBytes} bytes of ${spec.name}. Lower it.`);
    for (const optimizer of optimizers)
      for (const precision of precisions)
        for (const count of ranks)
          for (const wrap of count > 1 || precision !== "f32" ? wraps : [undefined])
            for (const way of request.ways ?? usualWays) {
              const unit: FitUnit = {
                configuration: {
                  device: spec.name,
                  ...(optimizer !== undefined && { optimizer }),
                  precision,
                  way,
                  ranks: count,
                  ...(wrap !== undefined && { wrap }),
                },
                spec,
                ...(network !== undefined && { network }),
                memoryBytes,
                batches,
                ...(globalBatch !== undefined && { globalBatch }),
                ...(keepsMeasured && { keepsMeasured }),
                maxOverhead,
                objective,
                iterations,
                seed,
                morePlans,
                efforts,
              };
              // Ways that were not requested are left out instead of refused.
              if (request.ways !== undefined || fitWay(way).refuses(unit, steps) === undefined) units.push(unit);
            }
  }
  return units;
}

/** Returns the reason why steps cannot compute in a precision, or undefined if they can. */
export function refusesPrecision(
  precision: FitPrecision,
  { framework, name }: Pick<StepsToFit, "framework" | "name">,
): string | undefined {
  return precision === "f32" || framework === "pytorch"
    ? undefined
    : `${precision}: TensorFlow.js supports float32 only, and ${name} trains in it. Remove it.`;
}

function checkOptimizer(optimizer: string, { name, framework, optimizers }: StepsToFit): void {
  if (optimizers?.includes(optimizer) === true) return;
  const code = torchOptimizerCode(optimizer);
  if (framework !== "pytorch" && code !== undefined)
    throw refusal(
      `--optimizer ${optimizer}: ${code} is a PyTorch optimizer, and ${name} trains in TensorFlow.js. Name a PyTorch run, or remove it.`,
    );
  const reason = optimizers === undefined ? undefined : refusesRecordedOptimizer(optimizer, { framework, run: name });
  if (reason !== undefined) throw refusal(`${reason}.`);
}

const usualWays: readonly FitWayName[] = fitWayNames.filter((name) => name !== "offload");

/** The default of `iterations`. This many changes take little time compared with the start of a search. */
export const usualIterations = 5000;

/** The default of `morePlans`. The search for the largest batch with a plan also takes about eight plans. */
const morePlans = 8;

/**
 * The factors by which the number of changes is multiplied, one after the other. For a step of thousands of ops, the
 * last one takes a few seconds.
 */
const efforts: readonly number[] = [4, 16, 64];

function batchesOf(
  { batches }: FitRequest,
  { recordedBatches, name }: Pick<StepsToFit, "name" | "recordedBatches">,
): readonly number[] {
  const [recorded] = recordedBatches?.length === 1 ? recordedBatches : [];
  if (batches === undefined) return recorded === undefined ? usualBatches : [recorded];
  const sorted = [...new Set(batches)].sort((a, b) => a - b);
  if (sorted.length === 0 || sorted.some((batch) => !Number.isSafeInteger(batch) || batch < 1))
    throw refusal(
      `a batch needs at least one sample; found ${batches.join(", ") || "none"}. Pass whole numbers, such as 8,16.`,
    );
  if (recorded === undefined) return sorted;
  if (sorted.includes(recorded)) return [recorded];
  throw refusal(
    `${name} was recorded only with a batch of ${recorded}, and --batch asks for others. Record it at another batch as well, and name both runs.`,
  );
}

function refusal(detail: string): RematError {
  return new RematError("FIT_REQUEST", detail);
}
