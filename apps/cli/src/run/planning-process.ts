// A process that predicts and plans steps: it traces a step without data and times the step's ops on the backend.

import { freemem } from "node:os";
import {
  predictPlanned,
  predictReleased,
  predictReleasedPeak,
  predictStock,
  timeTraining,
} from "@remat/checkpoint/predict";
import { mostLibraryBytes, usesOneDnn } from "@remat/dispatch-hook/backends";
import {
  type BackendName,
  type BackendSelection,
  type SelectBackendOptions,
  selectBackend,
} from "@remat/dispatch-hook/backends/node";
import { bytesOfBudget, heldPeak, restingBytes } from "@remat/memory";
import { type CheckpointingGoal, nothingWithin, planCheckpointing } from "@remat/planner";
import {
  describePlanMismatch,
  type FasterGradients,
  findPlanMismatch,
  formatOccurrence,
  type Plan,
  RematError,
  readPlan,
  type Trace,
  writePlan,
} from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import { resolveStep, stepToPlan } from "@remat/tracer/step";
import { loadModel } from "../load-model.js";
import { keptTimes } from "./kept-times.js";
import type { PlanningJob, PlanningResult } from "./planning-job.js";
import { requireRoom } from "./require-room.js";
import { serveJob } from "./serve-job.js";

serveJob<PlanningJob, PlanningResult>(async (job, tell) => {
  const { backend, path, note, usesGpu } = await chooseBackend(job);
  const { name } = job.source;
  const step = { ...job.source.request, name, backend };
  const model = await loadModel(job.source);
  tell(`tracing ${name}`);
  const { wanted } = job;
  const stockTrace = await traceFakeStep(model, step);
  const traced =
    wanted.kind === "stock"
      ? stockTrace
      : await traceFakeStep(model, { ...step, fasterGradients: gradientsOf(wanted) });
  const released = await predictReleasedPeak(
    model,
    step,
    job.wanted.kind === "early-release" ? { updateInBackward: job.wanted.updateInBackward } : {},
  );
  // Without a plan, the memory is already known. With a plan, it depends on times.
  const libraryBytes = usesGpu ? 0 : mostLibraryBytes(traced, usesOneDnn() ?? false);
  if (wanted.kind === "stock")
    requireRoom(name, { peakBytes: heldPeak(stockTrace).peakBytes, libraryBytes }, job.memory);
  if (wanted.kind === "early-release") requireRoom(name, { peakBytes: released.peakBytes, libraryBytes }, job.memory);
  const times = keptTimes(job.timesPath);
  const timed = await timeTraining(model, traced, {
    ...step,
    releasedPeakBytes: released.peakBytes,
    availableBytes: availableMemory(),
    isSynchronous: !usesGpu,
    stock: stockTrace,
    cache: times.cache,
    onProgress: (progress) =>
      tell(
        "doneSteps" in progress
          ? `timing the ops of ${name}: ${progress.doneSteps} steps`
          : `timing ${progress.doneCalls}/${progress.totalCalls}: ${progress.kernel}`,
      ),
  });
  times.keep();
  const { trace } = timed;
  const stock = predictStock(timed, stockTrace);
  const common = {
    backend: { backend, path },
    backendNote: note,
    modelName: trace.header.model ?? job.source.name,
    notes: trace.header.notes ?? [],
    restingBytes: restingBytes(trace),
    stock,
    libraryBytes,
  };
  if (wanted.kind === "stock") return { ...common, predicted: stock };
  if (wanted.kind === "early-release") return { ...common, predicted: predictReleased(timed, released) };
  tell(`planning ${job.source.name}`);
  const plan = wanted.kind === "plan" ? checkedPlan(wanted.plan, trace) : await newPlan(trace, job, stock.peakBytes);
  return {
    ...common,
    predicted: predictPlanned(timed, plan),
    plan: writePlan(plan),
    budgetBytes: Number.isFinite(plan.origin.budgetBytes) ? plan.origin.budgetBytes : undefined,
  };
});

/** Returns the bytes that this process may still allocate. A control group's limit counts from Node 20.13 on. */
function availableMemory(): number {
  const { availableMemory: ask } = process as { availableMemory?: () => number };
  return ask?.call(process) ?? freemem();
}

interface ChosenBackend {
  readonly backend: BackendName;
  readonly path: string;
  readonly note: string;
  readonly usesGpu: boolean;
}

async function chooseBackend({ source, plannedBackend, from }: PlanningJob): Promise<ChosenBackend> {
  const { backend } = source.request;
  const selected = await selectOr(plannedBackend, { for: "training", from, backend });
  const failed = selected.attempts.filter((attempt) => !attempt.selected);
  const names = failed.map((attempt) => attempt.package);
  const missing = names.length > 1 ? `neither ${names.join(" nor ")} works` : `${names.join("")} does not work`;
  const device = selected.usesGpu ? ", on the GPU" : "";
  return {
    backend: selected.backend,
    path: selected.path,
    usesGpu: selected.usesGpu,
    note: `${selected.package}${device}${names.length === 0 ? "" : ` (${missing} here; remat doctor shows why)`}`,
  };
}

/**
 * Selects the backend that a plan was made for, or if that does not work, the requested one. Ops and shapes are the
 * same on all.
 */
async function selectOr(planned: BackendName | undefined, asked: SelectBackendOptions): Promise<BackendSelection> {
  if (planned === undefined) return selectBackend(asked);
  try {
    return await selectBackend({ ...asked, backend: planned });
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return selectBackend(asked);
  }
}

/** @throws RematError `PLAN_MISMATCH` before anything runs */
function checkedPlan(text: string, trace: Trace): Plan {
  const plan = readPlan(text);
  const mismatch = findPlanMismatch(plan, trace);
  if (mismatch === undefined) return plan;
  throw new RematError(
    "PLAN_MISMATCH",
    `the plan was made for another step: ${describePlanMismatch(mismatch)}. ` +
      "Plan this model, or replace --plan by --budget.",
  );
}

/** The gradients of the step: those of the given plan, or those that a new plan will use. */
function gradientsOf(wanted: PlanningJob["wanted"]): FasterGradients | undefined {
  return wanted.kind === "plan" ? readPlan(wanted.plan).subject.fasterGradients : stepToPlan.fasterGradients;
}

async function newPlan(trace: Trace, { wanted, timeMs, source }: PlanningJob, stockPeakBytes: number): Promise<Plan> {
  const { seed } = resolveStep(source.request);
  const answer = await planCheckpointing(trace, { ...goalOf(wanted, stockPeakBytes), timeMs, seed });
  if (answer.point !== undefined) return answer.point.plan;
  const { infeasible } = answer;
  if (infeasible === undefined)
    throw new RematError(
      "PLANNER_BUG",
      `${source.name}: the planner returned neither a plan nor a reason. Please report this as a bug.`,
    );
  const budgetBytes = wanted.kind === "budget" ? bytesOfBudget(wanted.budget, stockPeakBytes) : 0;
  const occurrence = formatOccurrence(infeasible.occurrence);
  throw nothingWithin({ ...infeasible, occurrence, name: trace.header.model ?? source.name, budgetBytes });
}

function goalOf(wanted: PlanningJob["wanted"], stockPeakBytes: number): CheckpointingGoal {
  if (wanted.kind === "overhead") return { maxOverhead: wanted.maxOverhead };
  if (wanted.kind !== "budget")
    throw new RematError("PLANNER_BUG", `'${wanted.kind}' does not need a plan. Please report this as a bug.`);
  return { budgetBytes: bytesOfBudget(wanted.budget, stockPeakBytes) };
}
