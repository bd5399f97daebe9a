import { type HeldPeak, heldPeak } from "@remat/memory";
import { countSteps, stepMs } from "@remat/runtime-estimator";
import { accumulatedRun } from "@remat/sharding";
import type { Trace } from "@remat/trace";
import type { FitUnit } from "../fit-unit.js";
import { msOfStep, priced } from "./priced.js";
import { microBatchesOf } from "./sharded.js";

/** The memory and time of a step on one device that accumulates the gradients of its passes. */
export interface PassesTaken extends Pick<HeldPeak, "peakBytes" | "bytesByCategory"> {
  /** 0 if ops have no times. */
  readonly ms: number;
}

/**
 * Returns the memory and time of a step with the unit's number of passes. `trace` is a step of one pass, with times,
 * and every pass has the same batch. Every pass after the first has the same peak, and takes as long as the second.
 */
export function takePasses(unit: FitUnit, trace: Trace, batch: number): PassesTaken {
  const passes = microBatchesOf(unit, batch) ?? 1;
  const ms = msOfStep(trace);
  if (passes === 1) return { ...heldPeak(trace), ms };
  const two = priced(accumulatedRun(trace, 2), unit);
  return { ...heldPeak(two), ms: ms + (passes - 1) * (stepMs(two) / countSteps(trace) - ms) };
}
