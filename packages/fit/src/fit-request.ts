import { refusesRecordedOptimizer, torchOptimizerCode } from "@remat/sharding";
import { type DeviceNetwork, type DeviceSpec, RematError } from "@remat/trace";
import { type FitObjective, type FitPrecision, type FitUnit, type FitWayName, fitWayNames } from "./fit-unit.js";
import type { StepsToFit } from "./steps-to-fit.js";
import { fitWay } from "./ways/fit-ways.js";

/** What is to be looked through: each of these with each of the others. */
export interface FitRequest {
  readonly devices: readonly DeviceSpec[];
  /** What a step may hold on each device; left out: what the device has. */
  readonly memoryBytes?: number | undefined;
  /** Of that, what is kept for others than the step: the process, CUDA's context; 0 if not given. */
  readonly reserveBytes?: number | undefined;
  /** The batches that may be taken; left out: 1 to 512, or of recorded runs that cannot be scaled, their own. */
  readonly batches?: readonly number[] | undefined;
  /** Left out: the model's own, or what was recorded. */
  readonly optimizers?: readonly string[] | undefined;
  /** Left out: as traced or recorded. */
  readonly precisions?: readonly FitPrecision[] | undefined;
  /** Left out: all that nobody refuses but offloading, which is asked for. */
  readonly ways?: readonly FitWayName[] | undefined;
  /** Left out: one device. */
  readonly ranks?: readonly number[] | undefined;
  /** Of ranks, what is gathered as one; undefined in it: as a user of FSDP would. Left out: that alone. */
  readonly wraps?: readonly (readonly string[] | undefined)[] | undefined;
  readonly network?: DeviceNetwork | undefined;
  readonly globalBatch?: number | undefined;
  /** 0.3 if not given. */
  readonly maxOverhead?: number | undefined;
  /** `throughput` if not given. */
  readonly objective?: FitObjective;
  /** 5000 if not given. */
  readonly iterations?: number;
  /** 0 if not given. */
  readonly seed?: number | undefined;
}

/** Batches that are looked through where nobody names any. */
const usualBatches: readonly number[] = Array.from({ length: 512 }, (_, i) => i + 1);

/**
 * Returns the units of work of a request: one for each configuration, in an order that depends on nothing else.
 *
 * @throws RematError `FIT_REQUEST` for what makes no sense, by name
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
    // Of an update that was not recorded nothing was measured.
    (request.optimizers ?? []).every((optimizer) => torchOptimizerCode(optimizer) === undefined);
  const units: FitUnit[] = [];
  for (const spec of request.devices) {
    const deviceBytes = request.memoryBytes ?? spec.memoryBytes;
    if (deviceBytes === undefined)
      throw refusal(`nobody says how much memory ${spec.name} has. Give --memory, or a device file with memoryBytes.`);
    const memoryBytes = deviceBytes - reserveBytes;
    if (memoryBytes <= 0)
      throw refusal(`--reserve ${reserveBytes}B leaves nothing of the ${deviceBytes} bytes of ${spec.name}.`);
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
              // What was not asked for is not refused either.
              if (request.ways !== undefined || fitWay(way).refuses(unit, steps) === undefined) units.push(unit);
            }
  }
  return units;
}

/** Tells why steps cannot compute in a precision; undefined: they can. */
export function refusesPrecision(
  precision: FitPrecision,
  { framework, name }: Pick<StepsToFit, "framework" | "name">,
): string | undefined {
  return precision === "f32" || framework === "pytorch"
    ? undefined
    : `${precision}: ${name} trains in float32, as all of TensorFlow.js does. Leave it out.`;
}

function checkOptimizer(optimizer: string, { name, framework, optimizers }: StepsToFit): void {
  if (optimizers?.includes(optimizer) === true) return;
  const code = torchOptimizerCode(optimizer);
  if (framework !== "pytorch" && code !== undefined)
    throw refusal(
      `--optimizer ${optimizer}: ${name} trains in TensorFlow.js, and ${code} is of PyTorch. Name a run recorded of PyTorch, or leave it out.`,
    );
  const reason = optimizers === undefined ? undefined : refusesRecordedOptimizer(optimizer, { framework, run: name });
  if (reason !== undefined) throw refusal(`${reason}.`);
}

const usualWays: readonly FitWayName[] = fitWayNames.filter((name) => name !== "offload");

/** Beside what a search takes to begin, so many changes hardly count. */
export const usualIterations = 5000;

/** What finds the largest batch of a plan takes some eight plans already. */
const morePlans = 8;

/** Of a step of thousands of ops the last of these takes some seconds. */
const efforts: readonly number[] = [4, 16, 64];

function batchesOf(
  { batches }: FitRequest,
  { recordedBatches, name }: Pick<StepsToFit, "name" | "recordedBatches">,
): readonly number[] {
  const [recorded] = recordedBatches?.length === 1 ? recordedBatches : [];
  if (batches === undefined) return recorded === undefined ? usualBatches : [recorded];
  const sorted = [...new Set(batches)].sort((a, b) => a - b);
  if (sorted.length === 0 || sorted.some((batch) => !Number.isSafeInteger(batch) || batch < 1))
    throw refusal(`expected batches of at least one sample, found ${batches.join(", ") || "none"}.`);
  if (recorded === undefined) return sorted;
  if (sorted.includes(recorded)) return [recorded];
  throw refusal(
    `${name} was recorded with a batch of ${recorded} alone, and --batch asks for others. Record it at another batch, too, and name both runs.`,
  );
}

function refusal(detail: string): RematError {
  return new RematError("FIT_REQUEST", detail);
}
