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
import { type DeviceSpec, RematError, RuntimeSource, type Trace, truncationNote } from "@remat/trace";
import { refusesPrecision, unitsOf } from "../fit-request.js";
import type { FitRow } from "../fit-unit.js";
import { batchOfRun } from "../recorded-steps.js";
import { fitUnitBatch } from "../search/fit-unit-batch.js";
import type { StepsToFit } from "../steps-to-fit.js";
import { msOfStep } from "../ways/priced.js";
import { refusesOptimizerOn } from "../ways/sharded.js";
import { describeWhatIf, parseWhatIf, type WhatIf } from "./what-if.js";

/** A step as it is, of which other things are asked. */
export interface PresentStep {
  /** Priced, or with its own times. */
  readonly trace: Trace;
  /** The same step at other batches, with other optimizers. */
  readonly steps: StepsToFit;
  /** What it is to fit. */
  readonly device: DeviceToFit;
  /** By whose figures its ops are priced, where they are. */
  readonly pricedFor: DeviceSpec;
}

/** Returns the step as it is, as the first row. */
export function presentWhatIf(present: PresentStep): WhatIfRow {
  const { trace, device } = present;
  if (!tellsLifetimes(trace))
    return refusedWhatIf(
      presentQuestion,
      "The trace does not tell when storages are freed, so nobody can say what it holds. Record it with remat record, or of PyTorch with remat's exporter.",
    );
  return answeredWhatIf(presentQuestion, {
    ...heldPeak(trace),
    truncated: trace.truncated,
    stepMs: msOf(trace),
    device,
  });
}

/**
 * Answers a question in words, as {@link parseWhatIf} reads it: what `remat memory`, `remat fit` and `remat compare` say of the same configuration. What cannot be said of a step is refused,
 * with the reason.
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

/** The plan of a rank; of one device that computes in another precision, too, as `remat fit` has it. Undefined of a step as it runs. */
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
      `nobody can say how many samples the step of ${steps.name} has: name a batch, too.`,
    );
  return steps.stepAt(asked, optimizer);
}

/** With its times on the device that is asked for, else with those of the step as it is: of measured ones nobody knows what another step takes. */
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

/** Of a step. */
function msOf(trace: Trace): number | undefined {
  return msOfStep(trace) || undefined;
}

/** The search for the largest batch ends here: one device is given fewer samples. */
const largestBatchTried = 65_536;

/** The search traces no step with more ops than this. tfjs's gradient of `tile` has ops for every row, so a large batch would take minutes to trace. */
const mostOpsTraced = 100_000;

/** The batches to search. Where a step has more ops at a larger batch, the search ends before {@link mostOpsTraced}, but not below twice the batch at hand. */
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

/** The largest batch that fits the device as the step runs, as `remat fit --ways stock` has it. */
async function largestBatch(present: PresentStep, asked: WhatIf): Promise<FitRow> {
  const { steps } = present;
  if (asked.sharding !== undefined)
    throw new RematError(
      "WHAT_IF",
      "the largest batch of ranks is for a search: remat fit --ranks N --ways stock finds it.",
    );
  const [recorded, ...others] = steps.recordedBatches ?? [];
  // Says why there is no other, and what to do about it.
  if (recorded !== undefined && others.length === 0) await steps.stepAt(2 * recorded, asked.optimizer);
  const { memoryBytes } = asked.device ?? present.device;
  // Of a step of one sample that is known already nothing is to be searched.
  if (batchOfRun(present.trace) === 1 && memoryBytes !== undefined) {
    const { peakBytes } = await takeStep(present, { ...asked, batch: 1 });
    if (peakBytes > memoryBytes) throw notEven(1);
  }
  const [unit] = unitsOf(
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
  const found = await fitUnitBatch(unit, steps);
  if (found.kind === "fits") return found.row;
  throw found.kind === "refused" ? new RematError("WHAT_IF", found.reason) : notEven(found.smallest.batch);
}

function notEven(batch: number): RematError {
  return new RematError(
    "WHAT_IF",
    `not even a batch of ${batch} fits as the step runs: remat fit looks for ways that do.`,
  );
}

/** Answers what somebody is likely to ask of a step, one after the other: the step as it is, then each of {@link usualWhatIfs}. */
export async function* answerUsualWhatIfs(present: PresentStep): AsyncGenerator<WhatIfRow> {
  const first = presentWhatIf(present);
  yield first;
  // Of a trace that tells nothing it is said once.
  if (first.peakBytes === undefined || present.trace.truncated !== undefined) return;
  for (const question of usualWhatIfs(present)) yield await answerWhatIf(present, question);
}

/** Returns what somebody is likely to ask of a step: a batch half and twice as large, the largest, other optimizers, the lower precision, devices, and ranks unless the step is very large. What is refused, is refused once. */
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

/** Those that keep another number of bytes of each weight: a recorded run of TensorFlow.js, which can be given none, is asked of one. */
function optimizersFor({ header }: Trace, { framework, recordedBatches }: StepsToFit): readonly string[] {
  if (framework === "pytorch") return torchOptimizerNames().filter((name) => torchOptimizerCode(name) !== undefined);
  const others = ["sgd", "momentum", "adam"].filter((name) => name !== header.step?.optimizer);
  return recordedBatches === undefined ? others : others.slice(-1);
}

/** From the smallest on. */
const usualDevices = ["t4", "l4", "a100-40gb", "a100", "h100", "h200"];

/** Of larger steps it takes seconds to say what a rank holds: too long where nobody has asked. */
const mostOpsSharded = 100_000;

/** As is usual, over more and more ranks; then what else there is to choose. */
const shardings: readonly string[] = ["world=2", "world=8", "world=64", "world=8,no-reshard", "world=8,no-wrap"];

/** TensorFlow.js trains in `float32` alone. */
const shardingsFor = ({ framework }: StepsToFit): readonly string[] =>
  framework === "pytorch" ? [...shardings, "world=8,bf16"] : shardings;
