import { type ShardingPlan, torchOptimizerCode } from "@remat/sharding";
import { compareShardings } from "@remat/sharding/compare";
import { itemAt, type Trace } from "@remat/trace";
import type { FitStep, FitUnit } from "../fit-unit.js";

/**
 * Returns whether a step is the step of one of several ranks, or computes in another precision than recorded. FSDP
 * provides both.
 */
export function isSharded({ configuration: { ranks, precision } }: FitUnit): boolean {
  return ranks > 1 || precision !== "f32";
}

/** Returns the reason why an optimizer cannot update sharded weights, or undefined if it can. */
export function refusesOptimizer(unit: FitUnit): string | undefined {
  const { optimizer, ranks } = unit.configuration;
  return isSharded(unit) ? refusesOptimizerOn(optimizer, ranks) : undefined;
}

/** Returns the reason why an optimizer cannot update weights of FSDP2 on `ranks` ranks, or undefined if it can. */
export function refusesOptimizerOn(optimizer: string | undefined, ranks: number): string | undefined {
  const code = optimizer === undefined ? undefined : torchOptimizerCode(optimizer);
  return code === undefined
    ? undefined
    : `${code} cannot update the DTensors that FSDP2 makes of weights (bitsandbytes issue 1633), and ${ranks === 1 ? "bf16 by FSDP2 is" : `${ranks} ranks are`} asked for`;
}

/**
 * Returns the number of passes of a step for a batch per rank, or undefined if the samples of a step cannot be divided
 * into such batches.
 */
export function microBatchesOf(
  { globalBatch, configuration: { ranks } }: Pick<FitUnit, "globalBatch" | "configuration">,
  batch: number,
): number | undefined {
  if (globalBatch === undefined) return 1;
  const passes = globalBatch / (ranks * batch);
  return Number.isInteger(passes) && passes > 0 ? passes : undefined;
}

/** Returns the sharding plan of a unit's step. */
function shardingOf(unit: FitUnit, batch: number, more: Partial<ShardingPlan> = {}): ShardingPlan {
  const { ranks, precision, wrap } = unit.configuration;
  const microBatches = microBatchesOf(unit, batch) ?? 1;
  return {
    worldSize: ranks,
    ...(wrap !== undefined && { wrap }),
    ...(precision === "bf16" && { mixedPrecision: { param: "bfloat16" } }),
    ...(microBatches > 1 && { microBatches }),
    ...more,
  };
}

/** Returns the memory and time of one rank's step, as in `remat compare`. */
export function shardedStep(unit: FitUnit, trace: Trace, batch: number, more: Partial<ShardingPlan>): FitStep {
  const { spec, network } = unit;
  const sharding = shardingOf(unit, batch, more);
  const { checkpoint, ...plain } = sharding;
  const { outcomes } = compareShardings(
    trace,
    [{ name: "rank", plan: sharding }, ...(checkpoint === undefined ? [] : [{ name: "plain", plan: plain }])],
    { device: spec, network },
  );
  const { peakBytes, bytesByCategory, time } = itemAt(outcomes, 1);
  const [, , without] = outcomes;
  return {
    batch,
    peakBytes,
    bytesByCategory,
    stepMs: time?.stepMs,
    overhead:
      time === undefined || without?.time === undefined ? 0 : Math.max(0, time.stepMs / without.time.stepMs - 1),
    sharding,
  };
}
