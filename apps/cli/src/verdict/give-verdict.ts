import { heldPeak, tellsLifetimes } from "@remat/memory";
import { tellsSaves } from "@remat/memory/checkpointing";
import { StepFacts } from "@remat/memory/sequence";
import {
  type DeviceToFit,
  deviceToFit,
  type GivenStep,
  judgeMemory,
  type Outcome,
  type Verdict,
  type VerdictOptions,
} from "@remat/reporting/verdict";
import { priceTrace } from "@remat/runtime-estimator";
import type { DeviceSpec, Trace } from "@remat/trace";
import { loadTrace } from "../load-trace.js";
import { isOf } from "../model-source.js";
import { withGradientsOfPlans } from "../plan/gradients-of-plan.js";
import type { Pricing } from "../pricing-options.js";
import type { Progress } from "../progress.js";
import { type Given, nextCommand } from "./next-command.js";
import { predictEarlyRelease } from "./predict-early-release.js";

export interface GivenVerdict extends Given {
  readonly pricing: Pick<Pricing, "device" | "isAsked">;
  readonly outcome?: Outcome | undefined;
  /** The step with the model's manual checkpointing. Set only if the verdict ignores that checkpointing. */
  readonly handCheckpointed?: GivenStep | undefined;
  /** The step that plans are made for, if it was already traced. */
  readonly planned?: Trace | undefined;
  /** Peak with early release, if already computed. */
  readonly earlyReleasePeakBytes?: number | undefined;
  /** The next command, if the caller has a better one. */
  readonly command?: string | undefined;
}

/**
 * Judges a step as recorded or traced. If it does not fit, ways to fit are computed, unless the step was already
 * planned or measured.
 */
export async function giveVerdict(
  trace: Trace,
  given: GivenVerdict,
  progress: Pick<Progress, "show">,
): Promise<Verdict | undefined> {
  const { outcome } = given;
  if (!tellsLifetimes(trace)) return undefined;
  const { failure } = trace.header;
  const device = deviceToFit(trace, given.pricing.device, given.pricing.isAsked);
  if (trace.header.step?.predict === true) return judgePrediction(trace, device, given, progress);
  const earlyReleasePeakBytes =
    "earlyReleasePeakBytes" in given
      ? given.earlyReleasePeakBytes
      : (await predictEarlyRelease(trace, { ...given, options: given.step }, progress))?.peakBytes;
  const planned = given.planned ?? (await stepToPlan(trace, given, progress));
  const facts = new StepFacts(trace, { planned, earlyReleasePeakBytes });
  const isOpen = outcome === undefined && failure === undefined && trace.truncated === undefined;
  const found = isOpen ? await waysOf(facts, device, given, progress) : undefined;
  return judgeMemory(facts, {
    device,
    units: given.units,
    outcome,
    given: given.handCheckpointed,
    ...found,
    commandFor: (step) =>
      "command" in given
        ? given.command
        : nextCommand({ ...given, program: failure?.program, plansRanks: plansRanks(trace) }, step, device.memoryBytes),
  });
}

/**
 * Planning for ranks uses checkpointing, and older PyTorch traces do not record which tensors checkpointing keeps
 * alive.
 */
export const plansRanks = (trace: Trace): boolean => trace.header.framework !== "pytorch" || tellsSaves(trace);

/** For a model, the step with the gradients that plans use. A run is planned as recorded. */
async function stepToPlan(
  trace: Trace,
  { source, step: asked, pricing }: GivenVerdict,
  progress: Pick<Progress, "show">,
): Promise<Trace> {
  if (!isOf(source, "model") || trace.header.fasterGradients !== undefined) return trace;
  const step = await loadTrace(source, withGradientsOfPlans(asked), progress);
  return priceTrace(step, pricing.device);
}

/** Loads the planner, which a step that fits does not need. */
const loadWaysToFit = () => import("@remat/reporting/ways-to-fit");

async function waysOf(
  facts: StepFacts,
  { memoryBytes }: Pick<DeviceSpec, "memoryBytes">,
  { source, step: given }: GivenVerdict,
  progress: Pick<Progress, "show">,
): Promise<Pick<VerdictOptions, "ways" | "least"> | undefined> {
  if (memoryBytes === undefined || facts.peak.peakBytes <= memoryBytes) return undefined;
  const samples = facts.trace.header.step?.batch ?? given.request.batch;
  const { leastHeld, waysToFit } = await loadWaysToFit();
  const ways = await waysToFit(facts, {
    memoryBytes,
    onProgress: (what) => progress.show(`${source.name}: ${what}`, true),
    ...(isOf(source, "model") &&
      samples !== undefined && {
        batch: {
          samples,
          peakOf: async (batch) =>
            heldPeak(await loadTrace(source, { ...given, request: { ...given.request, batch } }, progress)).peakBytes,
        },
      }),
  });
  return { ways, least: ways.length === 0 ? leastHeld(facts) : undefined };
}

/**
 * For inference, finds the largest batch that fits. Early release is for backward passes and frees nothing earlier
 * here.
 */
async function judgePrediction(
  trace: Trace,
  device: DeviceToFit,
  { source, step: given, units, updateInBackward }: GivenVerdict,
  progress: Pick<Progress, "show">,
): Promise<Verdict | undefined> {
  const { memoryBytes } = device;
  const judged = { device, units };
  if (memoryBytes === undefined || !isOf(source, "model") || trace.truncated !== undefined)
    return judgeMemory(trace, judged);
  const peakOf = async (batch: number): Promise<number> => {
    progress.show(`${source.name}: a batch of ${batch}`, true);
    return heldPeak(await loadTrace(source, { ...given, request: { ...given.request, batch } }, progress)).peakBytes;
  };
  const [samples, peakBytes] =
    given.request.batch === undefined ? [1, await peakOf(1)] : [given.request.batch, heldPeak(trace).peakBytes];
  const { largestFittingBatch } = await loadWaysToFit();
  const largest = await largestFittingBatch(samples, peakBytes, memoryBytes, peakOf);
  const released = await predictEarlyRelease(trace, { source, options: given, updateInBackward }, progress);
  const facts = new StepFacts(trace, { earlyReleasePeakBytes: released?.peakBytes });
  return judgeMemory(facts, { ...judged, largestBatch: largest ?? null });
}
