import { parseDeviceSpec } from "@remat/runtime-estimator";
import { categoryNames, type DeviceSpec } from "@remat/trace";
import * as v from "valibot";
import { type FitAnswer, type FitUnit, fitObjectives, fitPrecisions, fitWayNames } from "../fit-unit.js";

/** Limits of names, lists and texts. Longer ones are mistakes, or an attempt to exhaust the reader's memory. */
const most = { characters: 4096, items: 65_536, unitSamples: 1e9 };

const text = v.pipe(v.string(), v.maxLength(most.characters));
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const positive = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const amount = v.pipe(v.number(), v.finite(), v.minValue(0));
const listOf = <Item extends v.GenericSchema>(item: Item) => v.pipe(v.array(item), v.maxLength(most.items));

const configurationSchema = v.strictObject({
  device: text,
  optimizer: v.optional(text),
  precision: v.picklist(fitPrecisions),
  way: v.picklist(fitWayNames),
  ranks: positive,
  wrap: v.optional(listOf(text)),
});

/** A device, checked by the reader of device specs. */
const deviceSchema = v.pipe(
  v.custom<DeviceSpec>((spec) => typeof spec === "object" && spec !== null),
  v.rawCheck(({ dataset, addIssue }) => {
    try {
      parseDeviceSpec(dataset.value);
    } catch (error) {
      addIssue({ message: (error as Error).message });
    }
  }),
);

const networkSchema = v.strictObject({
  perNode: positive,
  nodeGBps: amount,
  betweenGBps: amount,
  latencyUs: amount,
});

const unit = v.strictObject({
  configuration: configurationSchema,
  spec: deviceSchema,
  network: v.optional(networkSchema),
  memoryBytes: amount,
  batches: v.pipe(listOf(v.pipe(positive, v.maxValue(most.unitSamples))), v.minLength(1)),
  globalBatch: v.optional(positive),
  keepsMeasured: v.optional(v.boolean()),
  maxOverhead: amount,
  objective: v.picklist(fitObjectives),
  iterations: count,
  seed: count,
  morePlans: v.pipe(count, v.maxValue(10_000)),
  efforts: v.pipe(v.array(v.pipe(positive, v.maxValue(10_000))), v.maxLength(32)),
});

/**
 * A unit of work that may come from a queue.
 *
 * @internal
 */
export const unitSchema: v.GenericSchema = unit;

const bytesByCategorySchema = v.record(v.picklist(categoryNames), amount);

const shardingSchema = v.strictObject({
  worldSize: positive,
  wrap: v.optional(listOf(text)),
  mixedPrecision: v.optional(v.strictObject({ param: text })),
  microBatches: v.optional(positive),
  checkpoint: v.optional(listOf(v.strictObject({ modules: listOf(text) }))),
  cpuOffload: v.optional(v.boolean()),
});

const policySchema = listOf(
  v.strictObject({ fqn: text, saved: listOf(count), ops: v.optional(v.strictTuple([count, count])) }),
);

const rangeSchema = v.strictObject({ from: positive, to: positive });

const notFittingSchema = v.strictObject({
  batch: positive,
  peakBytes: amount,
  libraryBytes: v.optional(amount),
  binds: v.picklist([...categoryNames, "time"]),
  bindsBytes: amount,
  isProven: v.boolean(),
  unproven: v.optional(rangeSchema),
});

const rowSchema = v.strictObject({
  batch: positive,
  peakBytes: amount,
  libraryBytes: v.optional(amount),
  bytesByCategory: bytesByCategorySchema,
  stepMs: v.optional(amount),
  overhead: amount,
  gap: v.optional(amount),
  effort: v.optional(positive),
  sharding: v.optional(shardingSchema),
  policy: v.optional(policySchema),
  configuration: configurationSchema,
  memoryBytes: amount,
  microBatches: positive,
  samplesPerSecond: v.optional(amount),
  endsRange: v.optional(v.literal(true)),
  next: v.optional(notFittingSchema),
});

const answer = v.variant("kind", [
  v.strictObject({ kind: v.literal("fits"), row: rowSchema }),
  v.strictObject({ kind: v.literal("not-fitting"), configuration: configurationSchema, smallest: notFittingSchema }),
  v.strictObject({ kind: v.literal("refused"), configuration: configurationSchema, reason: text }),
]);

/**
 * An answer to a unit, by its shape alone.
 *
 * @internal
 */
export const answerSchema: v.GenericSchema = answer;

/** Lets the compiler check the schemas against the types of the rest of the package. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
const _unit: Same<keyof v.InferOutput<typeof unit>, keyof FitUnit> = true;
const _answer: Same<v.InferOutput<typeof answer>["kind"], FitAnswer["kind"]> = true;
void _unit;
void _answer;
