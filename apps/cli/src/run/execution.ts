import { applyPlan, MemoryMeter, type PassReport, releaseEarly } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { readPlan } from "@remat/trace";
import { decideCheckpointing } from "@remat/tracer";
import { resolveStep } from "@remat/tracer/step";
import { CollectArrays } from "./collect-arrays.js";
import type { StepSurroundings } from "./run-steps.js";
import type { Execution, StepJob } from "./step-job.js";

type Moved = Pick<PassReport, "recomputedOps" | "recomputedOnTouch" | "offloadedBytes" | "reloadedBytes">;

/** An execution in progress. */
export interface Running {
  close(): void;
  readonly lastStep?: Moved | undefined;
}

/** Opens the executor that an execution asks for. */
export function execute(execution: Execution): Running {
  switch (execution.kind) {
    case "stock":
      return { close() {} };
    case "early-release":
      return { close: releaseEarly({ updateInBackward: execution.updateInBackward === true }) };
    case "plan":
      return applyPlan(readPlan(execution.plan), { offloadsOnHost: execution.offloadsOnHost === true });
  }
}

const movedIn = ({ recomputedOps, recomputedOnTouch, offloadedBytes, reloadedBytes }: Moved): Moved => ({
  recomputedOps,
  recomputedOnTouch,
  offloadedBytes,
  reloadedBytes,
});

/** Returns what runs around the steps of a job: its execution, and memory measurement. */
export function surroundingsOf({ execution, source }: Pick<StepJob, "execution" | "source">): StepSurroundings {
  const { allocationUnitBytes } = resolveStep(source.request);
  const stopDeciding = decideCheckpointing(source.request);
  const meter = new MemoryMeter({ allocationUnitBytes });
  const stopCounting = openDispatchMode(meter);
  const stopCollecting = openDispatchMode(new CollectArrays());
  let running: Running;
  try {
    running = execute(execution);
  } catch (error) {
    stopCollecting();
    stopCounting();
    stopDeciding();
    throw error;
  }
  return {
    around(step, before) {
      meter.count(before);
      meter.reset();
      step();
      const { lastStep } = running;
      return {
        peakBytes: meter.peakBytes,
        ...(lastStep && movedIn(lastStep)),
      };
    },
    close() {
      running.close();
      stopCollecting();
      stopCounting();
      stopDeciding();
    },
  };
}
