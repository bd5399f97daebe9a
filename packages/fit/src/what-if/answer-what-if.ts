import { heldPeak, tellsLifetimes } from "@remat/memory";
import { answeredWhatIf, presentQuestion, refusedWhatIf, type WhatIfRow, type WhatIfStep } from "@remat/reporting";
import { describeRise } from "@remat/reporting/sharding";
import { type DeviceToFit } from "@remat/reporting/verdict";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import {
  CheckpointedRun,
  parseShardingPlan,
  type ShardingPlan,
  torchOptimizerCode,
  torchOptimizerNames,
} from "@remat/sharding";
import { shardingOutcome } from "@remat/sharding/compare";
import { type DeviceSpec, itemAt, RematError, RuntimeSource, type Trace, truncationNote } from "@remat/trace";
import { refusesPrecision, unitsOf } from "../fit-request.js";
import type { FitRow } from "../fit-unit.js";
import { batchOfRun } from "../recorded-steps.js";
import { fitUnitBatch } from "../search/fit-unit-batch.js";
import type { StepsToFit } from "../steps-to-fit.js";
import { msOfStep } from "../ways/priced.js";
import { refusesOptimizerOn } from "../ways/sharded.js";
import { describeWhatIf, parseWhatIf, type WhatIf } from "./what-if.js";

/** The current step. Questions are about changes to it. */
export interface PresentStep {
  /** The run, with estimated or measured times. */
  readonly trace: Trace;
  /** The same step at other batches and with other optimizers. */
  readonly steps: StepsToFit;
  /** The device that the step should fit. */
  readonly device: DeviceToFit;
  /** The device for which the times of ops are estimated, if any. */
  readonly pricedFor: DeviceSpec;
}

/** Returns the row of the current step, which comes first. */
export function presentWhatIf(present: PresentStep): WhatIfRow {
  const { trace, device } = present;
  if (!tellsLifetimes(trace))
    return refusedWhatIf(
      presentQuestion,
      "The trace does not show when storages are freed, so its memory is unknown. Record it with remat record, or with remat's recorder for PyTorch.",
    );
  return answeredWhatIf(presentQuestion, {
    ...heldPeak(trace),
    truncated: trace.truncated,
    stepMs: msOf(trace),
    device,
  });
}

/**
 * Answers a question in the text form of {@link parseWhatIf}, in words. The answer agrees with `remat memory`,
 * `remat fit` and `remat compare` for the same configuration. If there is no answer, the row contains the reason.
 *
 * @example
 * (await answerWhatIf(present, "batch=64, optimizer=adam")).answer; // "peak 4.61 GiB of 80 GiB (a100): fits, 75.39 GiB to spare; step 21.3 ms"
 */
export async function answerWhatIf(present: PresentStep, text: string): Promise<WhatIfRow> {
  const question = text.trim();
  try {
    if (!tellsLifetimes(present.trace)) return refusedWhatIf(question, presentWhatIf(present).answer);
    const { truncated } = present.trace;
    if (truncated !== undefined) throw new RematError("WHAT_IF", truncationNote(present.trace)!);
    const { batch: wanted, ...asked } = parseWhatIf(question);
    if (wanted !== "largest") return answeredWhatIf(question, await takeStep(present, { ...asked, batch: wanted }));
    const { batch, endsRange } = await largestBatch(present, asked);
    const found = `${question}: ${endsRange ? `at least ${batch} (search limit)` : batch}`;
    return answeredWhatIf(found, await takeStep(present, { ...asked, batch }));
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return refusedWhatIf(question, error.message);
  }
}

type OneStep = Omit<WhatIf, "batch"> & { readonly batch: number | undefined };

async function takeStep(present: PresentStep, asked: OneStep): Promise<WhatIfStep> {
  const { precision = "f32", sharding, device = present.device } = asked;
  const plan = shardingOf(present.steps, asked);
  const refused =
    refusesPrecision(precision, present.steps) ??
    (plan === undefined ? undefined : refusesOptimizerOn(asked.optimizer, plan.worldSize));
  if (refused !== undefined) throw new RematError("WHAT_IF", refused);
  const { trace, figures, isTimed } = pricedStep(present, asked, await stepOf(present, asked));
  if (plan === undefined) return { ...heldPeak(trace), stepMs: isTimed ? msOf(trace) : undefined, device };
  const name = sharding ?? precision;
  const outcome = shardingOutcome(trace, { name, plan }, new CheckpointedRun(trace), figures && { device: figures });
  const { peakBytes, bytesByCategory, time } = outcome;
  const reason = describeRise(outcome, heldPeak(trace).peakBytes);
  return { peakBytes, bytesByCategory, stepMs: isTimed ? time?.stepMs : undefined, device, reason };
}

/**
 * Returns the plan of a rank, or of one device that computes in another precision, as in `remat fit`. Returns undefined
 * for an unchanged step.
 */
function shardingOf(
  { framework }: StepsToFit,
  { precision = "f32", sharding }: Omit<WhatIf, "batch">,
): ShardingPlan | undefined {
  const items = [
    ...(sharding === undefined ? [] : [sharding]),
    ...(precision === "bf16" && framework === "pytorch" ? ["param=bfloat16"] : []),
  ].join(",");
  if (items === "") return undefined;
  return parseShardingPlan(/(^|,)\s*world\s*=/.test(items) ? items : `world=1,${items}`);
}

async function stepOf({ trace, steps }: PresentStep, { batch, optimizer }: OneStep): Promise<Trace> {
  const own = batchOfRun(trace);
  if ((batch === undefined || batch === own) && optimizer === undefined) return trace;
  const asked = batch ?? own;
  if (asked === undefined)
    throw new RematError(
      "WHAT_IF",
      `the batch size of ${steps.name} is unknown. Name a batch as well, such as batch=32.`,
    );
  return steps.stepAt(asked, optimizer);
}

/**
 * Returns a step with times on the requested device. Without one, it has the same kind of times as the current step.
 * Measured times do not apply to another step.
 */
function pricedStep(
  present: PresentStep,
  { device }: Omit<WhatIf, "batch">,
  trace: Trace,
): { readonly trace: Trace; readonly figures: DeviceSpec | undefined; readonly isTimed: boolean } {
  const isPriced = present.trace.ops.runtimeSource.includes(RuntimeSource.roofline);
  const figures = device ?? (isPriced ? present.pricedFor : undefined);
  const isSame = trace === present.trace;
  const needsPrice = figures !== undefined && (device !== undefined || !isSame);
  return { trace: needsPrice ? priceTrace(trace, figures) : trace, figures, isTimed: isSame || needsPrice };
}

/** Returns the time of a step, or undefined if it is unknown. */
function msOf(trace: Trace): number | undefined {
  return msOfStep(trace) || undefined;
}

/** The limit of the search for the largest batch, more samples than one device gets in practice. */
const largestBatchTried = 65_536;

/**
 * The maximum number of ops in a step that the search traces. In TensorFlow.js, the gradient of `tile` has ops for
 * every row, so tracing a large batch would take minutes.
 */
const mostOpsTraced = 100_000;

/**
 * Returns the batches to search. If a step has more ops at a larger batch, the search ends before {@link
 * mostOpsTraced}, but not below twice the current batch.
 */
async function batchesToSearch({ trace, steps }: PresentStep, { optimizer }: WhatIf): Promise<readonly number[]> {
  const own = batchOfRun(trace);
  let last = largestBatchTried;
  if (own !== undefined && steps.recordedBatches === undefined) {
    const { count } = (await steps.stepAt(2 * own, optimizer)).ops;
    const opsPerSample = (count - trace.ops.count) / own;
    const samples = opsPerSample > 0 ? (mostOpsTraced - count) / opsPerSample : largestBatchTried;
    last = Math.min(largestBatchTried, 2 * own + Math.max(0, Math.floor(samples)));
  }
  return Array.from({ length: last }, (_, i) => i + 1);
}

/** Returns the largest batch that fits the device with the step unchanged, as in `remat fit --ways stock`. */
async function largestBatch(present: PresentStep, asked: WhatIf): Promise<FitRow> {
  const { steps } = present;
  if (asked.sharding !== undefined)
    throw new RematError("WHAT_IF", "batch=largest is not supported for ranks. Run remat fit --ranks N --ways stock.");
  const [recorded, ...others] = steps.recordedBatches ?? [];
  // This call throws an error that says why there is no other batch, and what to do.
  if (recorded !== undefined && others.length === 0) await steps.stepAt(2 * recorded, asked.optimizer);
  const { memoryBytes } = asked.device ?? present.device;
  // If the step is already known at one sample and does not fit, there is nothing to search.
  if (batchOfRun(present.trace) === 1 && memoryBytes !== undefined) {
    const { peakBytes } = await takeStep(present, { ...asked, batch: 1 });
    if (peakBytes > memoryBytes) throw notEven(1);
  }
  const units = unitsOf(
    {
      devices: [asked.device ?? present.pricedFor],
      memoryBytes,
      optimizers: asked.optimizer === undefined ? undefined : [asked.optimizer],
      precisions: asked.precision === undefined ? undefined : [asked.precision],
      ...(recorded === undefined || others.length > 0 ? { batches: await batchesToSearch(present, asked) } : {}),
      ways: ["stock"],
    },
    steps,
  );
  const found = await fitUnitBatch(itemAt(units, 0), steps);
  if (found.kind === "fits") return found.row;
  throw found.kind === "refused" ? new RematError("WHAT_IF", found.reason) : notEven(found.smallest.batch);
}

function notEven(batch: number): RematError {
  return new RematError(
    "WHAT_IF",
    `not even a batch of ${batch} fits without changes. Run remat fit to find a configuration that does.`,
  );
}

/**
 * Answers the usual questions about a step, one after the other: first for the current step, then for half and twice
 * the batch, the largest batch, other optimizers, the lower precision, other devices and more ranks.
 */
export async function* answerUsualWhatIfs(present: PresentStep): AsyncGenerator<WhatIfRow> {
  const first = presentWhatIf(present);
  yield first;
  // Without lifetimes or with a truncated trace, every question would have the same answer.
  if (first.peakBytes === undefined || present.trace.truncated !== undefined) return;
  for (const question of usualWhatIfs(present)) yield await answerWhatIf(present, question);
}

/**
 * Returns the usual questions about a step: half and twice the batch, the largest batch, other optimizers, the lower
 * precision, devices, and ranks unless the step is very large. If a kind of change is impossible for this step, only
 * one question of that kind is included.
 */
export function usualWhatIfs({ trace, steps, device }: Omit<PresentStep, "pricedFor">): readonly string[] {
  const batch = batchOfRun(trace);
  const isFixed = steps.recordedBatches?.length === 1 || batch === undefined;
  const isPrediction = trace.header.step?.predict === true;
  const questions: WhatIf[] = [
    ...(isFixed ? [] : [...(batch > 1 ? [{ batch: batch >> 1 }] : []), { batch: 2 * batch }]),
    { batch: "largest" },
    ...(isPrediction ? [] : optimizersFor(trace, steps).map((optimizer) => ({ optimizer }))),
    { precision: "bf16" },
    ...usualDevices.filter((name) => name !== device.name).map((name) => ({ device: deviceSpec(name) })),
    ...(isPrediction || trace.ops.count > mostOpsSharded ? [] : shardingsFor(steps).map((sharding) => ({ sharding }))),
  ];
  return questions.map(describeWhatIf);
}

/**
 * Returns optimizers that use another number of bytes per weight. For a recorded run of TensorFlow.js, whose optimizer
 * cannot be changed, it returns only one, whose answer says this.
 */
function optimizersFor({ header }: Trace, { framework, recordedBatches }: StepsToFit): readonly string[] {
  if (framework === "pytorch") return torchOptimizerNames().filter((name) => torchOptimizerCode(name) !== undefined);
  const others = ["sgd", "momentum", "adam"].filter((name) => name !== header.step?.optimizer);
  return recordedBatches === undefined ? others : others.slice(-1);
}

/** The devices of the usual questions, smallest memory first. */
const usualDevices = ["t4", "l4", "a100-40gb", "a100", "h100", "h200"];

/**
 * The maximum number of ops in a step for questions about ranks. Each question about a larger step takes seconds, which
 * is too long for a default question.
 */
const mostOpsSharded = 100_000;

/** The usual sharding over more and more ranks, then other choices. */
const shardings: readonly string[] = ["world=2", "world=8", "world=64", "world=8,no-reshard", "world=8,no-wrap"];

/** TensorFlow.js trains in `float32` only. */
const shardingsFor = ({ framework }: StepsToFit): readonly string[] =>
  framework === "pytorch" ? [...shardings, "world=8,bf16"] : shardings;
