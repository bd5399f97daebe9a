import { type HeldPeak, heldPeak } from "@remat/memory";
import { countSteps, stepMs } from "@remat/runtime-estimator";
import { accumulatedRun } from "@remat/sharding";
import type { Trace } from "@remat/trace";
import type { FitUnit } from "../fit-unit.js";
import { msOfStep, priced } from "./priced.js";
import { microBatchesOf } from "./sharded.js";

/** What a step on one device holds and takes that adds up the gradients of its passes. */
export interface PassesTaken extends Pick<HeldPeak, "peakBytes" | "bytesByCategory"> {
  /** 0 where ops have no times. */
  readonly ms: number;
}

/**
 * Returns what a step of as many passes as a unit asks for takes, each with the batch of `trace`: a priced step of one pass. Every pass after the first holds the same, and takes as long as the
 * second.
 */
export function takePasses(unit: FitUnit, trace: Trace, batch: number): PassesTaken {
  const passes = microBatchesOf(unit, batch) ?? 1;
  const ms = msOfStep(trace);
  if (passes === 1) return { ...heldPeak(trace), ms };
  const two = priced(accumulatedRun(trace, 2), unit);
  return { ...heldPeak(two), ms: ms + (passes - 1) * (stepMs(two) / countSteps(trace) - ms) };
}
