import { tellsLifetimes } from "@remat/memory";
import { accountOfFailure, type FailureRemedy } from "@remat/memory/failure";
import { StepFacts } from "@remat/memory/sequence";
import { type CategoryName, countReplayedOps, type Trace } from "@remat/trace";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import { describeVerdict, headlineOf } from "./describe-verdict.js";
import type { DeviceToFit } from "./device-to-fit.js";
import { paragraphOf } from "./fact-lines.js";
import { freeWay } from "./free-way.js";
import { judgeFailure } from "./judge-failure.js";
import type { FittingBatch, GivenStep, LeastHeld, Outcome, Verdict } from "./verdict.js";
import type { WayToFit } from "./way-to-fit.js";

/** The next step if nothing can be saved without slowdown: explore the cost of using less memory. */
export type NextStep = { readonly kind: "explore" };

const explore: NextStep = { kind: "explore" };

/** Options of {@link judgeMemory} and {@link judgeStep}. */
export interface VerdictOptions {
  /** The device that the step is meant for. */
  readonly device: DeviceToFit;
  readonly outcome?: Outcome | undefined;
  /** The step with its manual checkpointing, if the verdict is on the step without it. */
  readonly given?: GivenStep | undefined;
  /** Unit of all sizes in words. Default: a suitable unit for each size. */
  readonly units?: SizeUnit | undefined;
  /** Ways to make the step fit, from `waysToFit`. */
  readonly ways?: readonly WayToFit[] | undefined;
  /** The memory that no plan can avoid, from `leastHeld`. Used if there are no ways to fit. */
  readonly least?: LeastHeld | undefined;
  /** For a prediction, the largest batch that fits, from `largestFittingBatch`. */
  readonly largestBatch?: FittingBatch | null | undefined;
  /**
   * Returns the command to run: for a way to fit, for the next step if the step fits, or for a run that ran out of
   * memory. Undefined if none exists.
   */
  commandFor?(step: WayToFit | NextStep | FailureRemedy): string | undefined;
}

/** A step's memory. Sizes are rounded up to the allocation unit. */
export interface StepMemory {
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Partial<Record<string, number>>>;
  /** Peak with early release. Left out if it cannot be computed. */
  readonly earlyReleasePeakBytes?: number | undefined;
  /** Peak with a plan without recomputation. Left out if it cannot be computed. */
  readonly unrecomputedPeakBytes?: number;
  /** How many of its ops recompute activations under manual checkpointing. Default: none. */
  readonly recomputedOps?: number;
  /** The place where the trace ends early, so that the peak may be higher. Left out if the trace is complete. */
  readonly truncated?: Trace["truncated"];
}

/**
 * Returns the verdict on a step's memory as recorded: the peak, its categories, whether it fits, and the next step.
 * Undefined if the run does not record when storages are freed. If the run ran out of memory, the verdict explains why:
 * see {@link judgeFailure}.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * judgeMemory(trace, { device: deviceSpec("a100") })?.sentence; // "Fits: peak memory is 4.61 of 80 GiB (A100). …"
 */
export function judgeMemory(step: Trace | StepFacts, options: VerdictOptions): Verdict | undefined {
  const facts = StepFacts.of(step);
  const { trace, earlyReleasePeakBytes } = facts;
  const failure = accountOfFailure(trace);
  if (failure !== undefined) return judgeFailure(failure, options);
  if (!tellsLifetimes(trace)) return undefined;
  if (trace.header.step?.predict === true) {
    const { device, units, largestBatch } = options;
    return judgeStep(
      { ...facts.peak, earlyReleasePeakBytes, truncated: trace.truncated },
      { device, units, largestBatch },
    );
  }
  const recomputedOps = countReplayedOps(trace);
  // PyTorch already frees by reference counts. Freeing earlier is up to the program.
  const isReleasable = trace.header.framework === "tfjs" && recomputedOps === 0;
  const memory = { ...facts.peak, truncated: trace.truncated, recomputedOps };
  if (isReleasable) {
    const { unrecomputedPeakBytes } = facts;
    return judgeStep({ ...memory, earlyReleasePeakBytes, unrecomputedPeakBytes }, options);
  }
  if (recomputedOps === 0) return judgeStep({ ...memory, earlyReleasePeakBytes }, options);
  // Plans and early release apply to the step without its own recomputation.
  const { commandFor: _, ...others } = options;
  return judgeStep(memory, others);
}

/** Judges a step of which only the peak is known. */
export function judgeStep(
  {
    peakBytes,
    bytesByCategory,
    earlyReleasePeakBytes,
    unrecomputedPeakBytes,
    recomputedOps = 0,
    truncated,
  }: StepMemory,
  { device, outcome, given, units, ways, least, largestBatch, commandFor }: VerdictOptions,
): Verdict {
  const { memoryBytes } = device;
  const isWhole = truncated === undefined;
  // The step may use more memory after the end of a damaged trace.
  const isKnown = memoryBytes !== undefined && (isWhole || peakBytes > memoryBytes);
  const spareBytes = isKnown ? memoryBytes - peakBytes : undefined;
  const fits = spareBytes === undefined ? undefined : spareBytes >= 0;
  const free = isWhole ? freeWay({ peakBytes, earlyReleasePeakBytes, unrecomputedPeakBytes }) : undefined;
  // If nothing makes it fit, there is no command that would.
  const next = fits === false ? (ways === undefined ? explore : ways[0]) : (free ?? explore);
  const figures = {
    peakBytes,
    categories: Object.entries(bytesByCategory)
      .map(([category, bytes = 0]) => ({
        category: category as CategoryName,
        bytes,
        share: bytes / Math.max(1, peakBytes),
      }))
      .sort((a, b) => b.bytes - a.bytes),
    device: device.name,
    ...(device.isDefault === true && { isDefaultDevice: true as const }),
    deviceMemoryBytes: memoryBytes,
    fits,
    spareBytes,
    earlyReleasePeakBytes,
    unrecomputedPeakBytes,
    free,
    recomputedOps,
    given,
    outcome,
    truncated,
    ways: fits === false && isWhole ? ways : undefined,
    least: fits === false && isWhole && ways?.length === 0 ? least : undefined,
    largestBatch,
    command: isWhole && next !== undefined ? commandFor?.(next) : undefined,
  };
  const size = sizeFormat(units);
  const facts = describeVerdict(figures, size);
  return { ...figures, headline: headlineOf(figures, size), facts, sentence: paragraphOf({ facts }) };
}
