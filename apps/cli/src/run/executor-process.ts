// A process that runs training steps as they are with remat: early release, or after a plan, with memory counted by buffer.
import { applyPlan, MemoryMeter, releaseEarly } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { readPlan } from "@remat/trace";
import { resolveStep } from "@remat/tracer/step";
import { loadBackend } from "./load-backend.js";
import { recordStep } from "./record-step.js";
import { runSteps, type StepSurroundings } from "./run-steps.js";
import { serveJob } from "./serve-job.js";
import type { Execution, StepJob, StepResult } from "./step-job.js";

serveJob<StepJob, StepResult>(async (job) => {
  await loadBackend(job.backend);
  const figures = await runSteps(job, () => surroundingsOf(job));
  const recorded = job.record ? await recordStep(job, () => execute(job.execution)) : undefined;
  return { ...figures, ...(recorded && { recorded }) };
});

interface Running {
  close(): void;
  readonly lastStep?: { readonly replayedOps: number; readonly rebuiltOnTouch: number } | undefined;
}

function execute(execution: Execution): Running {
  switch (execution.kind) {
    case "stock":
      return { close() {} };
    case "early-release":
      return { close: releaseEarly() };
    case "plan":
      return applyPlan(readPlan(execution.plan));
  }
}

function surroundingsOf({ execution, source }: StepJob): StepSurroundings {
  const { allocationUnitBytes } = resolveStep(source.request);
  const meter = new MemoryMeter({ allocationUnitBytes });
  const stopCounting = openDispatchMode(meter);
  let running: Running;
  try {
    running = execute(execution);
  } catch (error) {
    stopCounting();
    throw error;
  }
  return {
    around(step, weights) {
      meter.count(weights);
      meter.reset();
      step();
      const { lastStep } = running;
      return {
        peakBytes: meter.peakBytes,
        ...(lastStep && { replayedOps: lastStep.replayedOps, rebuiltOnTouch: lastStep.rebuiltOnTouch }),
      };
    },
    close() {
      running.close();
      stopCounting();
    },
  };
}
